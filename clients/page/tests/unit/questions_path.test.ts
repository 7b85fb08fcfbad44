// SPDX-License-Identifier: Apache-2.0
// What the page asks of /v1/neighbors, and the standing queries that it reads.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Builder, ByteBuffer } from "flatbuffers";
import { AnchorKind } from "../../generated/starling/wire/anchor-kind";
import { Queries } from "../../generated/starling/wire/queries";
import { Query } from "../../generated/starling/wire/query";
import { Vec3 } from "../../generated/starling/wire/vec3";
import { HttpApi, HttpError, neighborsPath } from "../../src/world/http_api";
import { readQueries } from "../../src/world/messages";
import { TokenKeeper } from "../../src/world/token";
import { NO_FILTER, type Anchor } from "../../src/world/types";
import { FakeStorage } from "./fake_socket";

const pathOf = (anchor: Anchor, space: Parameters<typeof neighborsPath>[1]) =>
  neighborsPath({ anchor, k: 5, filter: NO_FILTER }, space);

test("a place has the coordinates that the server's space wants", () => {
  const flat: Anchor = { kind: "place", x: 1, y: 2 };
  const high: Anchor = { kind: "place", x: 1, y: 2, z: 30 };
  assert.equal(pathOf(flat, "planar2"), "/v1/neighbors?k=5&x=1&y=2");
  assert.equal(pathOf(flat, "planar3"), "/v1/neighbors?k=5&x=1&y=2&z=0");
  assert.equal(pathOf(flat, "wgs84"), "/v1/neighbors?k=5&lon=1&lat=2");
  assert.equal(pathOf(high, "planar3"), "/v1/neighbors?k=5&x=1&y=2&z=30");
  assert.equal(pathOf(high, "wgs84"), "/v1/neighbors?k=5&lon=1&lat=2&alt=30");
});

test("a standing query keeps its height", () => {
  const builder = new Builder(256);
  Query.startQuery(builder);
  Query.addAnchor(builder, AnchorKind.fixed);
  Query.addK(builder, 3);
  Query.addPosition(builder, Vec3.createVec3(builder, 1, 2, 30));
  const queries = Queries.createQueriesVector(builder, [Query.endQuery(builder)]);
  Queries.startQueries(builder);
  Queries.addQueries(builder, queries);
  builder.finish(Queries.endQueries(builder));
  const page = Queries.getRootAsQueries(new ByteBuffer(builder.asUint8Array()));
  assert.deepEqual(readQueries("s", page, 1)[0].question.anchor, { kind: "place", x: 1, y: 2, z: 30 });
});

test("an unknown object has an empty list, and other errors are errors", async () => {
  const realFetch = globalThis.fetch;
  const api = new HttpApi(new TokenKeeper(new FakeStorage()), () => undefined);
  const ask = (status: number, body: object) => {
    globalThis.fetch = () => Promise.resolve(Response.json({ status, ...body }, { status }));
    const anchor: Anchor = { kind: "object", id: "9" };
    return api.getNeighbors({ anchor, k: 5, filter: NO_FILTER }, "planar2");
  };
  try {
    const unknown = { detail: "no object", code: "unknown_object", tick: 3, time_us: 4 };
    assert.deepEqual(await ask(404, unknown), { tick: 3, timeUs: 4, neighbors: [] });
    await assert.rejects(ask(404, { detail: "There is no such path." }), HttpError);
    await assert.rejects(ask(503, { detail: "busy" }), HttpError);
  } finally {
    globalThis.fetch = realFetch;
  }
});
