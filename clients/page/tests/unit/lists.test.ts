// SPDX-License-Identifier: Apache-2.0
// Why an object is not in a list, lists of the past, places, distances and the server's numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeWorld } from "../../src/dev/fake_world";
import { listFromFrame } from "../../src/model/local_lists";
import { Places } from "../../src/model/places";
import { serverNumbers } from "../../src/model/server_numbers";
import { whyNot, whyNotSentence } from "../../src/model/why_not";
import { distanceBetween } from "../../src/world/distance";
import { NO_FILTER, type Question } from "../../src/world/types";

function world(count: number): FakeWorld {
  return new FakeWorld({ space: "planar2", count, tickMs: 100, seed: 7, objectsMax: 1e6 });
}

function nearest(id: string, k: number): Question {
  return { anchor: { kind: "object", id }, k, filter: NO_FILTER };
}

test("why not: none for a neighbour, else the rank and both distances", async () => {
  const fake = world(50);
  const all = (await fake.neighbors(nearest("1", 49))).neighbors;
  const list = { tick: 1, timeUs: 1, neighbors: all };
  assert.equal(await whyNot(fake, "planar2", nearest("1", 5), list, all[4].id), null);
  const why = await whyNot(fake, "planar2", nearest("1", 5), list, all[5].id);
  assert.deepEqual(why, {
    id: all[5].id,
    rank: 6,
    distance: all[5].distance,
    k: 5,
    kthDistance: all[4].distance,
    leftOutBy: "",
  });
});

test("why not has the distance of an object that no list has", async () => {
  const fake = world(1200);
  const all = (await fake.neighbors(nearest("1", 1199))).neighbors;
  const far = all[1100];
  const list = await fake.neighbors(nearest("1", 1024));
  const beyond = await whyNot(fake, "planar2", nearest("1", 5), list, far.id);
  assert.equal(beyond?.rank, 0);
  assert.equal(beyond?.distance, far.distance);
  assert.equal(beyond?.leftOutBy, "");
  const tagged = { ...nearest("1", 5), filter: { ...NO_FILTER, tagsRequired: 1 } };
  const listed = (await fake.neighbors({ ...tagged, k: 1199 })).neighbors;
  const passing = new Set(listed.map(({ id }) => id));
  const other = all.find(({ id }) => !passing.has(id))!;
  const found = await fake.neighbors({ ...tagged, k: 1024 });
  const filtered = await whyNot(fake, "planar2", tagged, found, other.id);
  assert.equal(filtered?.distance, other.distance);
  assert.equal(filtered?.leftOutBy, "with tags 0");
});

test("why not says where the other is", () => {
  const why = { id: "9", rank: 6, distance: 120.25, k: 5, kthDistance: 100, leftOutBy: "" };
  assert.equal(
    whyNotSentence(why, "car-9", true),
    "car-9 is number 6, at 120.3 m; number 5 is at 100.0 m, 20.25 m nearer.",
  );
  assert.equal(
    whyNotSentence({ ...why, rank: 0 }, "car-9", true),
    "car-9 is beyond number 1024, at 120.3 m; number 5 is at 100.0 m, 20.25 m nearer.",
  );
  assert.equal(
    whyNotSentence({ ...why, rank: 0, leftOutBy: "with tags 3" }, "car-9", true),
    "car-9 is at 120.3 m, but the question is for objects with tags 3.",
  );
});

test("a list of the past is that of its rounded positions", async () => {
  const fake = world(300);
  const frame = fake.frame();
  assert.ok(frame.kind === "objects");
  const question = nearest("12", 8);
  const local = listFromFrame(frame, fake.objects, "planar2", question);
  const exact = await fake.neighbors(question);
  assert.deepEqual(
    local?.neighbors.map((row) => row.id),
    exact.neighbors.map((row) => row.id),
  );
  local?.neighbors.forEach((row, i) => {
    assert.ok(Math.abs(row.distance - exact.neighbors[i].distance) < 0.5);
  });
});

test("an anchor that the frame lacks has no list", () => {
  const fake = world(10);
  const frame = fake.frame();
  assert.ok(frame.kind === "objects");
  assert.equal(listFromFrame(frame, fake.objects, "planar2", nearest("999", 8)), null);
});

test("the distance in wgs84 is the straight line", () => {
  // A quarter of the equator: the chord between the ends of two semi-major axes.
  const chord = distanceBetween("wgs84", [0, 0, 0], [90, 0, 0]);
  assert.ok(Math.abs(chord - 6378137 * Math.SQRT2) < 1e-6);
  assert.equal(distanceBetween("planar2", [0, 0, 0], [3, 4, 0]), 5);
});

test("numbers of a server are rates, stage times and limits near their end", () => {
  const before = new Map([
    ["starling_ticks_total", 100],
    ['starling_rows_total{outcome="accepted"}', 1000],
    ['starling_rows_total{outcome="late"}', 1],
    ['starling_tick_stage_seconds_sum{stage="build"}', 1],
    ['starling_tick_stage_seconds_count{stage="build"}', 100],
  ]);
  const after = new Map([
    ["starling_ticks_total", 120],
    ['starling_rows_total{outcome="accepted"}', 5000],
    ['starling_rows_total{outcome="late"}', 5],
    ['starling_tick_stage_seconds_sum{stage="build"}', 1.04],
    ['starling_tick_stage_seconds_count{stage="build"}', 120],
    ['starling_limit{name="sessions-max"}', 10],
    ['starling_limit_used{name="sessions-max"}', 10],
    ['starling_limit{name="streams-max"}', 10],
    ['starling_limit_used{name="streams-max"}', 1],
  ]);
  const numbers = serverNumbers(before, after, 2);
  assert.equal(numbers.ticksPerS, 10);
  assert.equal(numbers.rowsPerS, 2000);
  assert.deepEqual(numbers.refused, [["late", 2]]);
  assert.ok(Math.abs(numbers.stagesMs["build"] - 2) < 1e-9);
  assert.deepEqual(numbers.limits, [{ name: "sessions-max", used: 10, limit: 10 }]);
});

test("an object outside of the frame keeps its place while the server is asked again", async () => {
  const fake = world(10);
  const places = new Places(fake);
  await places.ask(null, ["3"]);
  const before = places.find(null, ["3"]);
  assert.equal(before.size, 1);
  fake.object = () => new Promise(() => {});
  void places.ask(null, ["3"]);
  assert.deepEqual(places.find(null, ["3"]), before);
});

test("an object outside of the frame has no place where the map would show it", async () => {
  const fake = world(10);
  const places = new Places(fake);
  await places.ask(null, ["3"]);
  const [[, place]] = places.find(null, ["3"]);
  const isHere = ([x, y]: [number, number]) => x === place[0] && y === place[1];
  assert.equal(places.find(null, ["3"], isHere).size, 0);
  assert.equal(places.find(fake.frame(), ["3"], isHere).size, 1, "the frame has it");
});

test("an object that the server does not have is missing, and asked for seldom", async () => {
  const fake = world(10);
  const places = new Places(fake);
  let asked = 0;
  fake.object = () => Promise.resolve((++asked, null));
  await places.ask(null, ["3"]);
  await places.ask(null, ["3"]);
  assert.equal(asked, 1);
  assert.ok(places.isMissing("3"));
  await places.ask(fake.frame(), ["3"]);
  assert.ok(!places.isMissing("3"), "the frame has it again");
});

test("a vector is not missing, and has no place", async () => {
  const fake = world(10);
  const places = new Places(fake);
  fake.object = async (id) => ({ id, name: null, x: NaN, y: NaN, z: 0, timeUs: 0, tags: 0 });
  await places.ask(null, ["3"]);
  assert.equal(places.find(null, ["3"]).size, 0);
  assert.ok(!places.isMissing("3"));
});
