// SPDX-License-Identifier: Apache-2.0
// The page meets servers that break the protocol. It must not hang, take much memory or show wrong
// data, and its sentence must say what the server did.
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Builder, ByteBuffer } from "flatbuffers";
import { Queries } from "../../generated/starling/wire/queries";
import { Reply } from "../../generated/starling/wire/reply";
import { ReplyBody } from "../../generated/starling/wire/reply-body";
import { ViewTick } from "../../generated/starling/wire/view-tick";
import { HttpApi } from "../../src/world/http_api";
import { readQueries } from "../../src/world/messages";
import { TokenKeeper } from "../../src/world/token";
import { NO_FILTER, ObjectTable } from "../../src/world/types";
import { ViewState } from "../../src/world/view_state";
import { openWorld } from "./fake_socket";
import { helloReplyBytes, notAllowedBytes, viewTick, viewTickBytes } from "./wire_messages";

const rectangle = { xMin: 1, yMin: 2, xMax: 3, yMax: 4 };
const one = { slots: [0], ids: [5n], xy: [1, 2], tags: [0] };

/** What the page says after a server that has said hello sends `bytes`. */
function told(bytes: (view: bigint) => Uint8Array): string {
  const { world, events, frames, last } = openWorld();
  world.setView(rectangle);
  last().accept();
  last().say(helloReplyBytes(1n));
  last().say(bytes(last().lastView().id));
  assert.equal(frames.length, 0, "nothing of it is shown");
  world.close();
  return events.at(-1) ?? "";
}

test("each message of a socket that breaks the protocol ends the connection with a sentence", () => {
  const garbage = (identifier: string) => {
    const bytes = new Uint8Array(64).fill(0xa5);
    bytes.set(new TextEncoder().encode(identifier), 4);
    return bytes;
  };
  const cases: [RegExp, (view: bigint) => Uint8Array][] = [
    [/unknown kind/, () => garbage("ABCD")],
    [/unknown kind/, () => new Uint8Array(0)],
    [/cannot be used/, () => garbage("STRP")],
    [/second reply to Hello/, () => helloReplyBytes(2n)],
    [
      /without an id, a place/,
      (view) => viewTickBytes({ view, tick: 1, entered: { ...one, xy: [1] } }),
    ],
    [
      /without an id, a place/,
      (view) => viewTickBytes({ view, tick: 1, entered: { ...one, ids: [] } }),
    ],
    [
      /without an id, a place/,
      (view) => viewTickBytes({ view, tick: 1, entered: { ...one, names: ["a", "b"] } }),
    ],
    [
      /moved to no place/,
      (view) => viewTickBytes({ view, tick: 1, entered: one, moved: { slots: [0], xy: [] } }),
    ],
    [
      /not the tags/,
      (view) => viewTickBytes({ view, tick: 1, entered: one, tagged: { slots: [0], tags: [] } }),
    ],
    [
      /slot 4294967295 is too large/,
      (view) => viewTickBytes({ view, tick: 1, entered: { ...one, slots: [4294967295] } }),
    ],
  ];
  for (const [sentence, bytes] of cases) assert.match(told(bytes), sentence);
});

test("a message of text, a huge one and terms without a session end the connection", () => {
  const { world, events, last } = openWorld();
  last().accept();
  last().onmessage({ data: "text" as unknown as ArrayBuffer });
  assert.match(events.at(-1) ?? "", /a message of text/);
  world.close();

  const second = openWorld();
  second.last().accept();
  second.last().onmessage({ data: new ArrayBuffer((64 << 20) + 1) });
  assert.match(second.events.at(-1) ?? "", /a message of 67108865 bytes/);
  second.world.close();
});

test("names that share one long text are refused before they are copied", () => {
  const builder = new Builder(1 << 20);
  const count = 50_000;
  const name = builder.createString("x".repeat(1 << 19));
  const names = ViewTick.createEnteredNamesVector(builder, new Array<number>(count).fill(name));
  const slots = Array.from({ length: count }, (_, slot) => slot);
  const entered = ViewTick.createEnteredVector(builder, slots);
  builder.startVector(8, count, 8);
  for (const slot of slots) builder.addInt64(BigInt(slot));
  const ids = builder.endVector();
  const xy = ViewTick.createEnteredXyVector(builder, new Array<number>(2 * count).fill(0));
  const tags = ViewTick.createEnteredTagsVector(builder, slots);
  ViewTick.startViewTick(builder);
  ViewTick.addEntered(builder, entered);
  ViewTick.addEnteredIds(builder, ids);
  ViewTick.addEnteredXy(builder, xy);
  ViewTick.addEnteredTags(builder, tags);
  ViewTick.addEnteredNames(builder, names);
  builder.finish(ViewTick.endViewTick(builder), "STVT");
  const message = ViewTick.getRootAsViewTick(new ByteBuffer(builder.asUint8Array()));
  const begin = performance.now();
  assert.throws(() => new ViewState(new ObjectTable()).apply(message), /longer than their message/);
  assert.ok(performance.now() - begin < 5000);
});

test("a rectangle without edges is refused", () => {
  const builder = new Builder(64);
  ViewTick.startViewTick(builder);
  builder.finish(ViewTick.endViewTick(builder), "STVT");
  const message = ViewTick.getRootAsViewTick(new ByteBuffer(builder.asUint8Array()));
  assert.throws(() => new ViewState(new ObjectTable()).apply(message), /without its rectangle/);
  assert.equal(new ViewState(new ObjectTable()).apply(viewTick({ tick: 1 })).tick, 1);
});

test("more queries than were asked for are refused before they are read", () => {
  const page = { queriesLength: () => 4_000_000_000 } as unknown as Queries;
  assert.throws(() => readQueries("s", page, 1000), /4000000000 queries where at most 1000/);
});

test("a refusal of megabytes is cut", () => {
  const reply = Reply.getRootAsReply(new ByteBuffer(notAllowedBytes(1n, "x".repeat(1 << 20))));
  assert.equal(reply.bodyType(), ReplyBody.Error);
  const { world, events, last } = openWorld();
  world.setView(rectangle);
  last().accept();
  last().say(helloReplyBytes(1n));
  last().say(notAllowedBytes(last().lastView().id, "x".repeat(1 << 20)));
  assert.ok((events.at(-1) ?? "").length < 1100);
  world.close();
});

/** Calls `ask` with the API of a server that answers each request with `answer`. */
async function against(
  answer: RequestListener,
  ask: (api: HttpApi) => Promise<unknown>,
): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  const ownFetch = globalThis.fetch;
  globalThis.fetch = (path, init) => ownFetch(`http://127.0.0.1:${port}${String(path)}`, init);
  try {
    await ask(new HttpApi(new TokenKeeper(null), () => {}));
    return "";
  } catch (error) {
    return (error as Error).message;
  } finally {
    globalThis.fetch = ownFetch;
    server.closeAllConnections();
    server.close();
  }
}

const question = { anchor: { kind: "place", x: 0, y: 0 }, k: 2, filter: NO_FILTER } as const;
const neighbors = (api: HttpApi) => api.getNeighbors(question, "planar2");
const stats = (api: HttpApi) => api.getStats();
const saying =
  (text: string, status = 200): RequestListener =>
  (_, answer) =>
    answer.writeHead(status).end(text);

test("each answer over HTTP that breaks the protocol is an error with a sentence", async () => {
  const row = '{"id":"1","distance_m":1}';
  const deep = "[".repeat(1_000_000);
  const cases: [RegExp, RequestListener, (api: HttpApi) => Promise<unknown>][] = [
    [/not JSON/, saying("<html>"), stats],
    [/not JSON/, saying(deep), stats],
    [/without counters/, saying(deep + "]".repeat(1_000_000)), stats],
    [/without counters/, saying("null"), stats],
    [/without the list neighbors/, saying("{}"), neighbors],
    [/without the list neighbors/, saying('{"neighbors":{"length":9}}'), neighbors],
    [/3 neighbours where 2/, saying(`{"neighbors":[${row},${row},${row}]}`), neighbors],
    [/without the text id/, saying('{"tick":1,"time_us":1,"neighbors":[{"id":7}]}'), neighbors],
    [/without the number tick/, saying('{"tick":"1","neighbors":[]}'), neighbors],
    [
      /without the number distance_m/,
      saying('{"tick":1,"time_us":1,"neighbors":[{"id":"7","distance_m":"far"}]}'),
      neighbors,
    ],
    [/without the text name/, saying('{"streams":[{}]}'), (api) => api.getStreams()],
    [/not made of numbers/, saying('{"lines":[[1,null]]}'), (api) => api.getRoads()],
    [/without the number time_us/, saying("{}"), (api) => api.putPlayback({})],
    [/^the server answered 500$/, saying('{"detail":{"a":1}}', 500), stats],
    [/^x{1000}$/, saying(JSON.stringify({ detail: "x".repeat(1 << 20) }), 500), stats],
    [/fetch failed/, (_, answer) => answer.writeHead(302, { Location: "/v1/stats" }).end(), stats],
    [
      /./,
      (_, answer) => {
        answer.writeHead(200, { "Content-Length": 1000 }).write("{");
        setTimeout(() => answer.destroy(), 20);
      },
      stats,
    ],
  ];
  for (const [sentence, answer, ask] of cases)
    assert.match(await against(answer, ask), sentence);
});

test("a body without end is given up after 64 MiB", async () => {
  const chunk = Buffer.alloc(1 << 20, "[");
  const sentence = await against((_, answer) => {
    const more = (): void => {
      while (!answer.destroyed && answer.write(chunk)) continue;
      answer.once("drain", more);
    };
    answer.writeHead(200);
    more();
  }, stats);
  assert.match(sentence, /more than 64 MiB of JSON|aborted due to timeout/);
});

test("counters that are no numbers are left out", async () => {
  let found = new Map<string, number>();
  const answer = saying('{"counters":{"a":1,"b":"2","c":null,"__proto__":{"d":4}}}');
  await against(answer, async (api) => (found = await api.getStats()));
  assert.deepEqual([...found], [["a", 1]]);
});
