// SPDX-License-Identifier: Apache-2.0
// The limits of the map, its grid, and lines over its edges.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linesAcross } from "../../src/map/base_layer";
import { linesBetween } from "../../src/map/overlay";
import { mercator, planar, rectangleOf, zoomAround } from "../../src/map/projection";

const WIDTH = 1280;
const HEIGHT = 800;

test("a link from afar shows a rectangle that the server accepts", () => {
  for (const projection of [mercator, planar])
    for (const [x, y] of [
      [1000, 10],
      [-1000, -95],
      [1e300, -1e300],
      [180, 90],
    ])
      for (const zoom of [-1e9, -20, 0, 10, 40, 1e9]) {
        const middle = projection.toPlane(x, y);
        const shown = zoomAround(projection, middle, 2 ** zoom, WIDTH, HEIGHT);
        const rectangle = rectangleOf(projection, shown, WIDTH, HEIGHT, 0.2);
        const values = Object.values(rectangle);
        assert.ok(values.every(Number.isFinite), `${x}, ${y}, ${zoom}: ${values}`);
        assert.ok(rectangle.xMin < rectangle.xMax && rectangle.yMin < rectangle.yMax, `${values}`);
        if (projection !== mercator) continue;
        assert.ok(rectangle.xMin >= -180 && rectangle.xMax <= 180, `${values}`);
        assert.ok(rectangle.yMin >= -90 && rectangle.yMax <= 90, `${values}`);
      }
});

test("the grid has a line each step, and few lines far from its middle too", () => {
  assert.deepEqual(linesAcross(-150, 400, 100), [2, 3, 4, 5]);
  assert.deepEqual(linesAcross(0, 200, 100), [0, 1]);
  assert.deepEqual(linesAcross(50, 200, 100), [0, 1]);
  for (const offset of [1e15, -1e18, 1e300])
    assert.ok(linesAcross(offset, 1280, 90).length <= 16, `${offset}`);
});

test("a link over the antimeridian goes the short way", () => {
  assert.deepEqual(linesBetween([10, 1], [400, 2], 1000), [
    [
      [10, 1],
      [400, 2],
    ],
  ]);
  assert.deepEqual(linesBetween([10, 1], [990, 2], 1000), [
    [
      [10, 1],
      [-10, 2],
    ],
    [
      [1010, 1],
      [990, 2],
    ],
  ]);
  assert.deepEqual(linesBetween([990, 2], [10, 1], 1000), [
    [
      [990, 2],
      [1010, 1],
    ],
    [
      [-10, 2],
      [10, 1],
    ],
  ]);
});
