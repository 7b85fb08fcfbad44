// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundsOf } from "../../src/map/bounds";
import { quantise } from "../../src/world/quantise";
import type { ObjectFrame, Rectangle } from "../../src/world/types";

const points = [
  [590, 610],
  [1400, 1300],
];

function frameOver(rectangle: Rectangle): ObjectFrame {
  const { xMin, xMax, yMin, yMax } = rectangle;
  return {
    kind: "objects",
    tick: 1,
    timeUs: 1,
    rectangle,
    objects: Uint32Array.of(0, 1),
    xy: Uint16Array.from(
      points.flatMap(([x, y]) => [quantise(x, xMin, xMax), quantise(y, yMin, yMax)]),
    ),
    tags: new Uint32Array(2),
    inView: 2,
  };
}

function holdsAll({ xMin, xMax, yMin, yMax }: Rectangle): boolean {
  return points.every(([x, y]) => x > xMin && x < xMax && y > yMin && y < yMax);
}

test("bounds from afar hold all objects, say that they are coarse, and become fine", () => {
  const reach = 10_000_000;
  const far = { xMin: -reach, yMin: -reach, xMax: reach, yMax: reach };
  const coarse = boundsOf(frameOver(far), 100);
  assert.ok(coarse && holdsAll(coarse.rectangle) && !coarse.isFine);
  const fine = boundsOf(frameOver(coarse.rectangle), 100);
  assert.ok(fine && holdsAll(fine.rectangle) && fine.isFine);
  assert.ok(fine.rectangle.xMax - fine.rectangle.xMin < 1000);
});

test("an empty frame has none", () => {
  const frame = { ...frameOver({ xMin: 0, yMin: 0, xMax: 1, yMax: 1 }), xy: new Uint16Array(0) };
  assert.equal(boundsOf(frame, 100), null);
});
