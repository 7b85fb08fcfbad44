// SPDX-License-Identifier: Apache-2.0
// A SocketWorld with the test's sockets, clock and storage, and a record of the events that it
// reports.
import assert from "node:assert/strict";
import { ByteBuffer } from "flatbuffers";
import { SocketBody } from "../../generated/starling/wire/socket-body";
import { SocketRequest } from "../../generated/starling/wire/socket-request";
import { View } from "../../generated/starling/wire/view";
import { identifierOf } from "../../src/world/messages";
import { SocketWorld } from "../../src/world/socket_world";
import { TokenKeeper, type TokenStorage } from "../../src/world/token";
import type { Frame } from "../../src/world/types";

export class FakeSocket {
  static readonly OPEN = 1;
  readyState = 0;
  binaryType = "";
  sent: Uint8Array[] = [];
  onopen = () => {};
  onmessage = (_event: { data: ArrayBuffer }) => {};
  onclose = (_event: { code: number }) => {};

  constructor(readonly protocols: string[]) {}

  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }

  /** Called by SocketWorld, and by tests in the place of the server. */
  close(code = 1006): void {
    this.readyState = 3;
    this.onclose({ code });
  }

  accept(): void {
    this.readyState = FakeSocket.OPEN;
    this.onopen();
  }

  say(bytes: Uint8Array): void {
    this.onmessage({ data: bytes.slice().buffer });
  }

  lastView(): { id: bigint; view: View } {
    const bytes = this.sent.at(-1) as Uint8Array;
    assert.equal(identifierOf(bytes), "STWS");
    const request = SocketRequest.getRootAsSocketRequest(new ByteBuffer(bytes));
    assert.equal(request.bodyType(), SocketBody.View);
    return { id: request.requestId(), view: request.body(new View()) as View };
  }
}

Object.assign(globalThis, { WebSocket: FakeSocket });

/** A sessionStorage in memory. */
export class FakeStorage implements TokenStorage {
  readonly items = new Map<string, string>();

  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }

  setItem(name: string, text: string): void {
    this.items.set(name, text);
  }

  removeItem(name: string): void {
    this.items.delete(name);
  }
}

export function openWorld(storage: TokenStorage | null = null) {
  const sockets: FakeSocket[] = [];
  const events: string[] = [];
  const frames: Frame[] = [];
  const later: (() => void)[] = [];
  const world = new SocketWorld({
    keeper: new TokenKeeper(storage),
    makeSocket: (protocols) => {
      sockets.push(new FakeSocket(protocols));
      return sockets.at(-1) as unknown as WebSocket;
    },
    later: (act) => later.push(act),
  });
  world.open({
    onOpen: ({ space }) => events.push(`open ${space}`),
    onFrame: (frame) => frames.push(frame),
    onForget: () => events.push("forget"),
    onGone: (sentence) => events.push(sentence),
    onLocked: (sentence) => events.push(`locked: ${sentence}`),
    onForbidden: (sentence) => events.push(`forbidden: ${sentence}`),
  });
  const last = () => sockets.at(-1) as FakeSocket;
  return { world, sockets, events, frames, last, later };
}
