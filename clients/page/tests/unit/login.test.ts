// SPDX-License-Identifier: Apache-2.0
// Logs in and out at a server with keys. Gate answers HTTP requests, and FakeSockets stand for
// WebSockets.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { FakeWorld } from "../../src/dev/fake_world";
import { Model } from "../../src/model/model";
import { faultOfToken, TokenKeeper } from "../../src/world/token";
import { Forbidden } from "../../src/world/types";
import { FakeStorage, openWorld } from "./fake_socket";
import { helloReplyBytes, notAllowedBytes } from "./wire_messages";

const UNKNOWN = "The server does not know this token, or it was revoked.";
const NO_TOKEN = "This server has keys.";
const NO_ROLE = '"narrow" may not do this. It needs the role stats.';
const rectangle = { xMin: 1, yMin: 2, xMax: 3, yMax: 4 };

/** Answers HTTP requests in the place of a server. fetch() calls it. */
class Gate {
  /** The right tokens. If "" is among them, requests without a token are accepted, too. */
  tokens = new Set(["right"]);
  /** The paths that need a role that no token has. */
  forbidden = new Set<string>();
  asked: string[] = [];

  answer(path: string, token: string): Response {
    this.asked.push(path);
    const problem = (status: number, detail: string, code?: string) =>
      Response.json({ status, detail, code }, { status });
    if (!this.tokens.has(token)) return problem(401, token ? UNKNOWN : NO_TOKEN);
    if (this.forbidden.has(path)) return problem(403, NO_ROLE, "not_allowed");
    if (path === "/v1/playback") return problem(404, "There is no recording.");
    return Response.json({ counters: { starling_objects: 3 }, streams: [] });
  }
}

let gate: Gate;
const realFetch = globalThis.fetch;

beforeEach(() => {
  gate = new Gate();
  globalThis.fetch = async (path, request) => {
    assert.doesNotMatch(String(path), /right|wrong/, "no address has a token");
    const field = new Headers(request?.headers).get("Authorization") ?? "Bearer ";
    return gate.answer(String(path), field.slice("Bearer ".length));
  };
});

afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Waits until the answers to a few requests have come. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10; ++i) await new Promise((next) => setImmediate(next));
}

/** Returns a world that is logged in with the right token. */
async function loggedIn(storage = new FakeStorage()) {
  const opened = openWorld(storage);
  opened.last().close();
  await settle();
  await opened.world.logIn("right");
  opened.last().accept();
  opened.last().say(helloReplyBytes(1n));
  return { storage, ...opened };
}

test("a token is in the tab's storage alone, and in no other place after a logout", () => {
  const storage = new FakeStorage();
  const keeper = new TokenKeeper(storage);
  assert.deepEqual(keeper.headers(), {});
  assert.deepEqual(keeper.protocols(), []);
  keeper.keep("abc-_~");
  assert.deepEqual(keeper.headers(), { Authorization: "Bearer abc-_~" });
  assert.deepEqual(keeper.protocols(), ["starling.v1", "starling.bearer.abc-_~"]);
  assert.equal(new TokenKeeper(storage).token, "abc-_~");
  keeper.keep(null);
  assert.equal(storage.items.size, 0);
  assert.equal(new TokenKeeper(storage).token, null);
});

test("a token that a WebSocket cannot carry is refused without asking", async () => {
  for (const token of ["", "two words", "a/b", "a,b", "a=", "ü", "a\r\nb"])
    assert.ok(faultOfToken(token), token);
  assert.equal(faultOfToken("oF8GVDMifbjS8eEu1A9bVEEnO3pjP0m8vrhcxgcTdMs"), null);
  const { world, sockets, events } = openWorld();
  await world.logIn("two words");
  assert.match(events.at(-1) ?? "", /^locked: This is no token for a page/);
  assert.deepEqual([gate.asked, sockets.length], [[], 1]);
});

test("a page without a token is told why, and asks no more until it has one", async () => {
  const { world, events, last, later } = openWorld();
  last().close();
  await settle();
  assert.equal(events.at(-1), `locked: ${NO_TOKEN}`);
  assert.equal(later.length, 0);
  const askedCount = gate.asked.length;
  await assert.rejects(world.stats(), { message: NO_TOKEN });
  assert.equal(gate.asked.length, askedCount);
});

test("a wrong token is told again, and a right one opens the page", async () => {
  const storage = new FakeStorage();
  const { world, sockets, events, last } = openWorld(storage);
  last().close();
  await settle();
  await world.logIn("wrong");
  assert.equal(events.at(-1), `locked: ${UNKNOWN}`);
  assert.deepEqual([sockets.length, storage.items.size], [1, 0]);
  await world.logIn("right");
  assert.deepEqual(last().protocols, ["starling.v1", "starling.bearer.right"]);
  last().accept();
  last().say(helloReplyBytes(1n));
  assert.equal(events.at(-1), "open wgs84");
  assert.deepEqual([...storage.items.values()], ["right"]);
  assert.equal((await world.stats()).get("starling_objects"), 3);
  assert.deepEqual(world.access, { hasKeys: true, hasToken: true, worksWithoutToken: false });
});

test("a page that is loaded again shows the stored token at once", () => {
  const storage = new FakeStorage();
  new TokenKeeper(storage).keep("right");
  assert.deepEqual(openWorld(storage).last().protocols, ["starling.v1", "starling.bearer.right"]);
});

test("a token that was revoked leads back to the form when its socket is cut", async () => {
  const { events, last, later, storage } = await loggedIn();
  gate.tokens.clear();
  const waitingCount = later.length;
  last().close(1008);
  await settle();
  assert.deepEqual(events.slice(-2), ["forget", `locked: ${UNKNOWN}`]);
  assert.deepEqual([later.length, storage.items.size], [waitingCount, 0]);
});

test("a token that was revoked leads back to the form when a request is refused", async () => {
  const { world, events, sockets, last, later } = await loggedIn();
  const socketCount = sockets.length;
  gate.tokens.clear();
  await assert.rejects(world.stats(), { message: UNKNOWN });
  assert.deepEqual(events.slice(-2), ["forget", `locked: ${UNKNOWN}`]);
  assert.equal(last().readyState, 3);
  later.forEach((act) => act());
  assert.equal(sockets.length, socketCount);
});

test("a socket that is cut because the rights changed is opened again", async () => {
  const { events, sockets, last, later } = await loggedIn();
  const socketCount = sockets.length;
  last().close(1008);
  await settle();
  later.at(-1)?.();
  assert.equal(sockets.length, socketCount + 1);
  assert.ok(!events.some((event, i) => i > 2 && event.startsWith("locked")));
});

test("an answer to the token before does not end the new one's session", async () => {
  const { world, events } = await loggedIn();
  gate.tokens.add("other");
  let answer: (response: Response) => void = () => undefined;
  const fetchNow = globalThis.fetch;
  globalThis.fetch = () => new Promise((settled) => (answer = settled));
  const late = assert.rejects(world.stats());
  globalThis.fetch = fetchNow;
  world.logOut();
  await world.logIn("other");
  answer(Response.json({ detail: UNKNOWN }, { status: 401 }));
  await late;
  assert.equal(events.at(-1), "locked: You have logged out.");
  assert.equal(world.access.hasToken, true);
});

test("a missing role is told once for each connection, and closes nothing", async () => {
  const { world, events, last, later } = await loggedIn();
  gate.forbidden.add("/v1/stats");
  for (let i = 0; i < 5; ++i) await assert.rejects(world.stats(), new Forbidden(NO_ROLE));
  assert.equal(gate.asked.filter((path) => path === "/v1/stats").length, 1);
  assert.equal(await world.playback(), null);
  assert.equal(events.at(-1), "open wgs84");
  gate.forbidden.clear();
  last().close();
  await settle();
  later.pop()?.();
  last().accept();
  last().say(helloReplyBytes(1n));
  assert.equal((await world.stats()).get("starling_objects"), 3);
});

test("a view that is forbidden is asked for once, and the socket stays", async () => {
  const { world, events, last } = await loggedIn();
  world.setView(rectangle);
  const sentCount = last().sent.length;
  last().say(notAllowedBytes(last().lastView().id, NO_ROLE));
  assert.equal(events.at(-1), `forbidden: ${NO_ROLE}`);
  world.setView(rectangle);
  assert.deepEqual([last().readyState, last().sent.length], [1, sentCount]);
});

test("a logout forgets the token; where none was needed, none is needed again", async () => {
  gate.tokens = new Set(["", "right"]);
  const { world, events, last, sockets } = openWorld(new FakeStorage());
  last().accept();
  last().say(helloReplyBytes(1n));
  assert.deepEqual(world.access, { hasKeys: false, hasToken: false, worksWithoutToken: true });
  world.logOut();
  assert.match(events.at(-1) ?? "", /^locked: Enter a token/);
  await world.logIn("right");
  world.logOut();
  assert.deepEqual(events.slice(-2), ["forget", "locked: You have logged out."]);
  assert.equal(world.objects.count, 0);
  await world.logIn(null);
  assert.deepEqual(last().protocols, []);
  assert.equal(sockets.filter(({ readyState }) => readyState !== 3).length, 1);
});

test("a server without keys is asked and answered as ever", async () => {
  gate.tokens = new Set([""]);
  const { world, events, last, later } = openWorld(new FakeStorage());
  assert.deepEqual(last().protocols, []);
  last().close();
  await settle();
  assert.match(events.at(-1) ?? "", /takes no further page/);
  assert.equal(world.access.hasKeys, false);
  globalThis.fetch = () => Promise.reject(new TypeError("refused"));
  later.at(-1)?.();
  last().close();
  await settle();
  assert.match(events.at(-1) ?? "", /^The server is gone/);
});

test("the model keeps the question over a logout, and forgets the rest", async () => {
  const world = new FakeWorld({ space: "wgs84", count: 9, tickMs: 1e6, seed: 7, objectsMax: 1e6 });
  const model = new Model(world);
  model.start();
  model.select({ kind: "object", id: "4" });
  world.advance();
  await model.readQueries();
  await settle();
  assert.ok(model.latest && model.anchorInfo && model.queries.length > 0);
  model.logOut();
  assert.deepEqual(model.connection, { state: "locked", sentence: "You have logged out." });
  assert.deepEqual([model.latest, model.anchorInfo, model.terms], [null, null, null]);
  assert.equal(model.queries.length + model.ring.count, 0);
  await model.logIn("wrong");
  assert.equal(model.connection.state, "locked");
  await model.logIn("right");
  await settle();
  assert.equal(model.connection.state, "live");
  assert.equal(model.anchorInfo?.id, "4");
  world.close();
});

test("the model tells what is forbidden until the next connection", async () => {
  const world = new FakeWorld({ space: "wgs84", count: 9, tickMs: 1e6, seed: 7, objectsMax: 1e6 });
  const model = new Model(world);
  model.start();
  world.queries = () => Promise.reject(new Forbidden(NO_ROLE));
  await model.readQueries();
  assert.deepEqual([...model.hidden], [["queries", NO_ROLE]]);
  world.setGone(true);
  world.setGone(false);
  assert.equal(model.hidden.size, 0);
  world.close();
});
