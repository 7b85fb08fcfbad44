// SPDX-License-Identifier: Apache-2.0
// Where standing queries are marked, and which query a click on an object chooses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeWorld } from "../../src/dev/fake_world";
import { queryNear } from "../../src/map/overlay";
import { planar } from "../../src/map/projection";
import { Model } from "../../src/model/model";
import type { ObjectFrame, StandingQuery } from "../../src/world/types";

function query(id: string, anchor: StandingQuery["question"]["anchor"]): StandingQuery {
  const filter = { tagsRequired: 1, tagsForbidden: 0, distanceMaxM: 500, ageMaxUs: Infinity };
  return { stream: "s", id, question: { anchor, k: 7, filter } };
}

function modelOf(queries: StandingQuery[]): { model: Model; frame: ObjectFrame } {
  const world = new FakeWorld({
    space: "planar2",
    count: 20,
    tickMs: 100,
    seed: 7,
    objectsMax: 1e6,
  });
  const model = new Model(world);
  const frame = world.frame();
  assert.ok(frame.kind === "objects");
  model.latest = frame;
  model.queries = queries;
  return { model, frame };
}

test("a query is marked at its place, or where the object is that it follows", () => {
  const { model } = modelOf([
    query("1", { kind: "place", x: 12, y: 34 }),
    query("2", { kind: "object", id: "9" }),
    query("3", { kind: "object", id: "nowhere" }),
  ]);
  const places = model.queryPlaces();
  assert.deepEqual(
    places.map(([{ id }]) => id),
    ["1", "2"],
    "an object that is not in the view has no mark",
  );
  assert.deepEqual(places[0][1], [12, 34]);
  assert.deepEqual(places[1][1], model.positions(["9"]).get("9"));
});

test("a mark is chosen within its diamond", () => {
  const { model } = modelOf([query("2", { kind: "object", id: "9" })]);
  const [[, place]] = model.queryPlaces();
  const zoom = { k: 2, x: 5, y: 6 };
  const [x, y] = planar.toPlane(...place);
  const at = (right: number) =>
    queryNear(model.queryPlaces(), planar, zoom, [x * 2 + 5 + right, y * 2 + 6])?.id;
  assert.equal(at(0), "2");
  assert.equal(at(8), "2");
  assert.equal(at(20), undefined);
});

test("choosing an object that a query follows asks what the query asks", () => {
  const { model } = modelOf([
    query("1", { kind: "place", x: 12, y: 34 }),
    query("2", { kind: "object", id: "9" }),
  ]);
  model.selectObject("9");
  assert.equal(model.query?.id, "2");
  assert.deepEqual(model.asked(), model.queries[1].question);
  model.selectObject("10");
  assert.equal(model.query, null);
  assert.deepEqual(model.asked()?.anchor, { kind: "object", id: "10" });
});
