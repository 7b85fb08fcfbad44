// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesBetween, ListLog } from "../../src/model/list_changes";
import type { Neighbor, NeighborList } from "../../src/world/types";

function rows(ids: string): Neighbor[] {
  return [...ids].map((id, i) => ({ id, name: null, distance: i }));
}

function changes(before: string, after: string): string[] {
  return changesBetween(rows(before), rows(after)).map(
    (one) => `${one.id} ${one.change} ${one.rankBefore}-${one.rankAfter}`,
  );
}

test("an equal list has no change", () => {
  assert.deepEqual(changes("abc", "abc"), []);
  assert.deepEqual(changes("", ""), []);
});

test("entering and leaving move nobody else", () => {
  assert.deepEqual(changes("abc", "xab"), ["x entered 0-1", "c left 3-0"]);
  assert.deepEqual(changes("abc", "bcd"), ["d entered 0-3", "a left 1-0"]);
});

test("a swap is one nearer and one farther", () => {
  assert.deepEqual(changes("abc", "acb"), ["c nearer 3-2", "b farther 2-3"]);
});

test("a first list and a last one are all entering and all leaving", () => {
  assert.deepEqual(changes("", "ab"), ["a entered 0-1", "b entered 0-2"]);
  assert.deepEqual(changes("ab", ""), ["a left 1-0", "b left 2-0"]);
});

function list(tick: number, ids: string): NeighborList {
  return { tick, timeUs: tick * 1000, neighbors: rows(ids) };
}

test("the log answers for a tick, and ignores lists that are not newer", () => {
  const log = new ListLog();
  log.push(list(5, "ab"));
  log.push(list(6, "ac"));
  log.push(list(6, "zz"));
  log.push(list(4, "zz"));
  assert.equal(log.ofTick(4), null);
  assert.equal(log.ofTick(5)?.neighbors[1].id, "b");
  assert.equal(log.ofTick(6)?.neighbors[1].id, "c");
});

test("changes are told for as long as their window, the newest first", () => {
  const log = new ListLog();
  log.push(list(1, "ab"));
  log.push(list(2, "ac"));
  log.push(list(3, "ad"));
  const ids = (until: number, window: number) =>
    log.changesUntil(until, window).map((one) => one.id + one.change[0]);
  assert.deepEqual(ids(3000, 1000), ["de", "cl"]);
  assert.deepEqual(ids(3000, 5000), ["de", "cl", "ce", "bl"]);
  assert.deepEqual(ids(2000, 5000), ["ce", "bl"]);
});
