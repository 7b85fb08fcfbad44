// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, Ring } from "../../src/model/ring";
import type { ObjectFrame } from "../../src/world/types";

function frame(tick: number, count = 1): ObjectFrame {
  return {
    kind: "objects",
    tick,
    timeUs: tick * 1000,
    rectangle: { xMin: 0, yMin: 0, xMax: 1, yMax: 1 },
    objects: new Uint32Array(count),
    xy: new Uint16Array(2 * count),
    tags: new Uint32Array(count),
    inView: count,
  };
}

test("an empty ring has nothing", () => {
  const ring = new Ring();
  assert.equal(ring.at(5), null);
  assert.equal(ring.first, null);
  assert.equal(ring.step(5, 1), null);
});

test("a time shows the newest frame that is not later, before the first the first", () => {
  const ring = new Ring(10000, 1e6);
  for (const tick of [1, 2, 3]) ring.push(frame(tick), tick * 100);
  assert.equal(ring.at(2000)?.tick, 2);
  assert.equal(ring.at(2999)?.tick, 2);
  assert.equal(ring.at(99000)?.tick, 3);
  assert.equal(ring.at(0)?.tick, 1);
  assert.equal(ring.step(2000, 1)?.tick, 3);
  assert.equal(ring.step(2000, -5)?.tick, 1);
});

test("frames older than the span leave", () => {
  const ring = new Ring(1000, 1e6);
  for (let tick = 0; tick <= 30; ++tick) ring.push(frame(tick), tick * 100);
  assert.equal(ring.count, 11);
  assert.equal(ring.first?.tick, 20);
});

test("large frames are kept evenly, and never more bytes than allowed", () => {
  const bytes = bytesOf(frame(0, 1000));
  const ring = new Ring(10000, 20 * bytes);
  for (let tick = 0; tick <= 400; ++tick) {
    ring.push(frame(tick, 1000), tick * 100);
    assert.ok(ring.bytes <= 20 * bytes);
  }
  const oldestMs = (ring.first?.tick ?? 0) * 100;
  assert.ok(40000 - oldestMs >= 9000, `the ring begins ${40000 - oldestMs} ms ago`);
});
