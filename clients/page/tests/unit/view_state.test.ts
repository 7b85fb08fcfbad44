// SPDX-License-Identifier: Apache-2.0
// Applies messages that the tests build as a server does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readRaster, ViewState } from "../../src/world/view_state";
import { ObjectTable, type ObjectFrame } from "../../src/world/types";
import { viewRaster, viewTick } from "./wire_messages";

function holder() {
  const objects = new ObjectTable();
  const state = new ViewState(objects);
  /** The id, position and tags of each object, in the order of ids. */
  const rows = (frame: ObjectFrame) =>
    Array.from(frame.objects, (index, i) => [
      objects.id(index),
      frame.xy[2 * i],
      frame.xy[2 * i + 1],
      frame.tags[i],
    ]).sort();
  return { objects, state, rows };
}

test("objects enter, move, get tags and leave", () => {
  const { objects, state, rows } = holder();
  const entered = { slots: [0, 3, 9], ids: [7n, 8n, 2n ** 63n + 1n], tags: [0, 1, 2] };
  const first = state.apply(
    viewTick({
      tick: 5,
      isWhole: true,
      entered: { ...entered, xy: [1, 2, 3, 4, 5, 65535], names: ["", "taxi-8", ""] },
    }),
  );
  assert.equal(first.tick, 5);
  assert.deepEqual(rows(first), [
    ["7", 1, 2, 0],
    ["8", 3, 4, 1],
    ["9223372036854775809", 5, 65535, 2],
  ]);
  assert.equal(objects.name(objects.indexOf("8")), "taxi-8");
  assert.equal(objects.name(objects.indexOf("7")), null);

  const second = state.apply(
    viewTick({
      tick: 6,
      left: [0],
      moved: { slots: [9], xy: [50, 60] },
      tagged: { slots: [3], tags: [4] },
    }),
  );
  assert.deepEqual(rows(second), [
    ["8", 3, 4, 4],
    ["9223372036854775809", 50, 60, 2],
  ]);
  assert.equal(rows(first).length, 3, "an earlier frame stays as it was");
});

test("a slot that is taken over stands for another object", () => {
  const { state, rows } = holder();
  const one = { slots: [1], ids: [7n], xy: [1, 1], tags: [0] };
  state.apply(viewTick({ tick: 1, isWhole: true, entered: one }));
  const frame = state.apply(viewTick({ tick: 2, entered: { ...one, ids: [8n], xy: [2, 2] } }));
  assert.deepEqual(rows(frame), [["8", 2, 2, 0]]);
});

test("a whole message forgets all slots, and many may enter", () => {
  const { state, rows } = holder();
  const count = 5000;
  const many = Array.from({ length: count }, (_, i) => i);
  const entered = {
    slots: many,
    ids: many.map((i) => BigInt(i + 1)),
    xy: many.flatMap((i) => [i, i]),
    tags: many,
  };
  assert.equal(state.apply(viewTick({ tick: 1, isWhole: true, entered })).tags.length, count);
  const half = state.apply(viewTick({ tick: 2, left: many.filter((i) => i % 2 === 0) }));
  assert.equal(half.tags.length, count / 2);
  assert.ok(half.tags.every((tags, i) => tags % 2 === 1 && half.xy[2 * i] === tags));
  const whole = viewTick({
    tick: 3,
    isWhole: true,
    entered: { slots: [2], ids: [1n], xy: [0, 0], tags: [0] },
  });
  assert.deepEqual(rows(state.apply(whole)), [["1", 0, 0, 0]]);
});

test("a message about a slot that is not held is refused", () => {
  const { state } = holder();
  assert.throws(() => state.apply(viewTick({ tick: 1, left: [4] })), /slot 4 is not held/);
  assert.throws(() => state.apply(viewTick({ tick: 1, moved: { slots: [5000000], xy: [1, 1] } })));
});

test("a raster has its counts, and one that lacks some is refused", () => {
  const frame = readRaster(viewRaster(2, 2, [1, 0, 0, 7]), 4);
  assert.deepEqual([...frame.counts], [1, 0, 0, 7]);
  assert.equal(frame.columns, 2);
  assert.throws(() => readRaster(viewRaster(2, 3, [1]), 6));
  assert.throws(() => readRaster(viewRaster(2, 2, [1, 0, 0, 7]), 3), /a raster of 4 cells/);
});
