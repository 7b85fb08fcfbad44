// SPDX-License-Identifier: Apache-2.0
// Checks what a server sends before the page uses it. A server may be faulty, or be another program
// at the same address. Each error's message says what is wrong.

/** Longest JSON that the page reads; the roads of a large city are some megabytes. */
const JSON_BYTES_MAX = 64 << 20;
const SENTENCE_LENGTH_MAX = 1000;
const NAME_LENGTH_MAX = 255;
const SENT = "the server sent ";

export function check(isGood: boolean, what: string): void {
  if (!isGood) throw new Error(SENT + what);
}

/** Reads the body of an answer as JSON, but no more than JSON_BYTES_MAX. */
export async function jsonOf(answer: Response): Promise<unknown> {
  const reader = answer.body?.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    chunks.push(part.value);
    bytes += part.value.length;
    if (bytes <= JSON_BYTES_MAX) continue;
    await reader?.cancel();
    throw new Error(`${SENT}more than ${JSON_BYTES_MAX >> 20} MiB of JSON`);
  }
  try {
    return JSON.parse(await new Blob(chunks).text());
  } catch {
    throw new Error(`${SENT}text that is not JSON`);
  }
}

/** A member of a JSON value; undefined if the value is no object or lacks it. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

export function list(value: unknown, name: string): unknown[] {
  const found = member(value, name);
  check(Array.isArray(found), `an answer without the list ${name}`);
  return found as unknown[];
}

export function number(value: unknown, name: string): number {
  const found = member(value, name);
  check(Number.isFinite(found), `an answer without the number ${name}`);
  return found as number;
}

/** Undefined if the member is absent, or null: JSON has no infinite numbers. */
export function numberIfAny(value: unknown, name: string): number | undefined {
  return (member(value, name) ?? null) === null ? undefined : number(value, name);
}

export function text(value: unknown, name: string): string {
  const found = member(value, name);
  check(typeof found === "string", `an answer without the text ${name}`);
  return (found as string).slice(0, NAME_LENGTH_MAX);
}

export function textIfAny(value: unknown, name: string): string | null {
  return member(value, name) === undefined ? null : text(value, name);
}

/** A sentence that can be shown: not longer than some lines. */
export function sentenceOf(given: unknown, otherwise: string): string {
  return typeof given === "string" && given ? given.slice(0, SENTENCE_LENGTH_MAX) : otherwise;
}
