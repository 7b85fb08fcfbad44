// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { mercator, planar, rectangleOf, zoomTo } from "../../src/map/projection";
import { NOTHING, Splat, tagColour, tagRows } from "../../src/map/splat";
import { diameterFor, spriteOf } from "../../src/map/sprites";
import type { ObjectFrame, RasterFrame } from "../../src/world/types";

const SIZE = 100;
const colours = { ofTags: Uint32Array.of(10, 11, 12, 13), ofCounts: Uint32Array.of(20, 21, 22) };
/** One metre is one pixel, and y = 100 is the upper edge of the screen. */
const zoom = { k: 1, x: 0, y: SIZE };

function splat(): Splat {
  const made = new Splat();
  made.resize(SIZE, SIZE, new Uint8ClampedArray(4 * SIZE * SIZE));
  return made;
}

function frameOf(points: [number, number][], tags: number[] = []): ObjectFrame {
  const step = (value: number) => Math.round((value / SIZE) * 65535);
  return {
    kind: "objects",
    tick: 1,
    timeUs: 1,
    rectangle: { xMin: 0, yMin: 0, xMax: SIZE, yMax: SIZE },
    objects: Uint32Array.from(points, (_, i) => i),
    xy: Uint16Array.from(points.flatMap(([x, y]) => [step(x), step(y)])),
    tags: Uint32Array.from(points, (_, i) => tags[i] ?? 0),
    inView: points.length,
  };
}

test("each object is drawn in its colour and picked where it is drawn", () => {
  const made = splat();
  made.drawObjects(
    frameOf(
      [
        [10.5, 10.5],
        [50.5, 60.5],
      ],
      [0, 2],
    ),
    planar,
    zoom,
    colours,
    3,
  );
  assert.equal(made.pick(10, 89, 0), 0);
  assert.equal(made.pick(50, 39, 0), 1);
  assert.equal(made.pixels[89 * SIZE + 10], 10);
  assert.equal(made.pixels[39 * SIZE + 50], 12);
  assert.equal(made.pick(30, 30, 5), NOTHING);
});

test("within reach the nearest pixel's object is picked", () => {
  const made = splat();
  made.drawObjects(
    frameOf([
      [40.5, 50.5],
      [47.5, 50.5],
    ]),
    planar,
    zoom,
    colours,
    1,
  );
  assert.equal(made.pick(43, 49, 6), 0);
  assert.equal(made.pick(44, 49, 6), 1);
  assert.equal(made.pick(43, 49, 2), NOTHING);
});

test("a later draw leaves nothing of an earlier one", () => {
  const made = splat();
  made.drawObjects(frameOf([[40.5, 50.5]]), planar, zoom, colours, 5);
  made.drawObjects(frameOf([]), planar, zoom, colours, 5);
  assert.ok(made.pixels.every((pixel) => pixel === 0));
  assert.equal(made.pick(40, 49, 6), NOTHING);
});

test("objects at the edges of the screen write no pixel outside of it", () => {
  const made = splat();
  const corners: [number, number][] = [
    [0, 0],
    [0, 100],
    [100, 0],
    [100, 100],
  ];
  made.drawObjects(frameOf(corners), planar, zoom, colours, 9);
  assert.ok(made.owners.every((owner) => owner <= corners.length));
});

test("a raster's cells are painted by their counts, empty ones not", () => {
  const made = splat();
  const frame: RasterFrame = {
    kind: "raster",
    tick: 1,
    timeUs: 1,
    rectangle: { xMin: 0, yMin: 0, xMax: SIZE, yMax: SIZE },
    columns: 2,
    rows: 2,
    counts: Uint32Array.of(0, 1, 100, 0),
    inView: 101,
  };
  made.drawRaster(frame, planar, zoom, colours);
  assert.equal(made.pixels[75 * SIZE + 25], 0);
  assert.notEqual(made.pixels[75 * SIZE + 75], 0);
  assert.equal(made.pixels[25 * SIZE + 25], 22);
});

test("the lowest tag bit gives the colour", () => {
  assert.deepEqual(
    [0, 1, 2, 6, 8, 2 ** 31].map((tags) => tagColour(tags, 9)),
    [0, 1, 2, 2, 4, 8],
  );
});

test("dots are odd discs, smaller where there are many", () => {
  assert.equal(spriteOf(1).length, 1);
  assert.equal(diameterFor(10, 1), 7);
  assert.equal(diameterFor(100000, 1), 1);
  for (const ratio of [1, 1.5, 2, 3]) assert.equal(diameterFor(5000, ratio) % 2, 1);
});

test("Mercator and its inverse agree, and a fitted zoom shows its rectangle", () => {
  const [x, y] = mercator.fromPlane(...mercator.toPlane(10.75, 59.91));
  assert.ok(Math.abs(x - 10.75) < 1e-9 && Math.abs(y - 59.91) < 1e-9);
  const wanted = { xMin: 2, yMin: 53, xMax: 12, yMax: 59 };
  const fitted = zoomTo(mercator, wanted, 800, 600);
  const shown = rectangleOf(mercator, fitted, 800, 600, 0);
  assert.ok(shown.xMin <= 2.001 && shown.xMax >= 11.999);
  assert.ok(shown.yMin <= 53.001 && shown.yMax >= 58.999);
});

test("a legend names the bits that share a colour", () => {
  const tags = Uint32Array.of(0, 0, 1, 3, 1 << 8, 1 << 9, 1 << 31);
  assert.deepEqual(tagRows(tags, 9), [
    { colour: 0, bits: [], count: 2 },
    { colour: 1, bits: [0, 8], count: 3 },
    { colour: 2, bits: [9], count: 1 },
    { colour: 8, bits: [31], count: 1 },
  ]);
});
