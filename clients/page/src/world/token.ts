// SPDX-License-Identifier: Apache-2.0
// The bearer token of the page's user, for a server with keys (docs/security.md). It is in the
// storage of the browser's tab, which ends with the tab, and in no address.

/** The part of sessionStorage that is used. */
export type TokenStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const STORED_AS = "starling.token";
/** A WebSocket has no header of its own, so it names the token as a protocol: token_gate.hpp. */
const SOCKET_PROTOCOL = "starling.v1";
const TOKEN_PROTOCOL = "starling.bearer.";
/** The characters that the name of a protocol may have: RFC 9110, section 5.6.2. */
const ALLOWED = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Returns why a page cannot send the token; null: it can. */
export function faultOfToken(token: string): string | null {
  if (ALLOWED.test(token)) return null;
  return (
    "This is no token for a page: a WebSocket carries only ASCII letters, digits and " +
    "! # $ % & ' * + - . ^ _ ` | ~"
  );
}

export class TokenKeeper {
  private kept: string | null;

  /** Without a storage, the token ends with the page. */
  constructor(private readonly storage: TokenStorage | null) {
    const stored = storage?.getItem(STORED_AS) ?? null;
    this.kept = stored !== null && faultOfToken(stored) === null ? stored : null;
  }

  /** Null: there is no token. */
  get token(): string | null {
    return this.kept;
  }

  keep(token: string | null): void {
    this.kept = token;
    try {
      if (token === null) this.storage?.removeItem(STORED_AS);
      else this.storage?.setItem(STORED_AS, token);
    } catch {
      // A full storage: the token ends with the page.
    }
  }

  headers(): Record<string, string> {
    return this.kept === null ? {} : { Authorization: `Bearer ${this.kept}` };
  }

  protocols(): string[] {
    return this.kept === null ? [] : [SOCKET_PROTOCOL, TOKEN_PROTOCOL + this.kept];
  }
}

/** Returns null if the browser allows the page no storage. */
export function storageOfTab(): TokenStorage | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}
