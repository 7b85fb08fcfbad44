// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { contains, dequantise, positionsOf, quantise } from "../../src/world/quantise";
import type { ObjectFrame } from "../../src/world/types";

test("edges are the first and the last step, and beyond them there is none", () => {
  assert.equal(quantise(2, 2, 12), 0);
  assert.equal(quantise(12, 2, 12), 65535);
  assert.equal(quantise(-1e9, 2, 12), 0);
  assert.equal(quantise(1e9, 2, 12), 65535);
  assert.equal(quantise(5, 5, 5), 0);
});

test("a position comes back within half a step", () => {
  for (const value of [2, 3.14159, 7.5, 11.9999]) {
    const back = dequantise(quantise(value, 2, 12), 2, 12);
    assert.ok(Math.abs(back - value) <= 10 / 65535 / 2 + 1e-12, `${value} came back as ${back}`);
  }
});

test("positions are found of those objects that a frame has", () => {
  const frame: ObjectFrame = {
    kind: "objects",
    tick: 1,
    timeUs: 1,
    rectangle: { xMin: 0, yMin: 0, xMax: 65535, yMax: 131070 },
    objects: Uint32Array.of(4, 7, 9),
    xy: Uint16Array.of(1, 2, 3, 4, 5, 6),
    tags: new Uint32Array(3),
    inView: 3,
  };
  const found = positionsOf(frame, new Set([7, 8]));
  assert.deepEqual([...found], [[7, [3, 8]]]);
});

test("a rectangle contains itself and not one that crosses its edge", () => {
  const outer = { xMin: 0, yMin: 0, xMax: 2, yMax: 2 };
  assert.ok(contains(outer, outer));
  assert.ok(!contains(outer, { xMin: 1, yMin: 1, xMax: 2.1, yMax: 2 }));
});
