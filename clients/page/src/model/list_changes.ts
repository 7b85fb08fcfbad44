// SPDX-License-Identifier: Apache-2.0
// The changes of a neighbour list from one answer to the next.
import type { Neighbor, NeighborList, ObjectId } from "../world/types";

export type Change = "entered" | "nearer" | "farther" | "left";

export interface ListChange {
  id: ObjectId;
  name: string | null;
  change: Change;
  /** Ranks begin at 1; 0: not in the list. */
  rankBefore: number;
  rankAfter: number;
}

function change(row: Neighbor, kind: Change, rankBefore: number, rankAfter: number): ListChange {
  return { id: row.id, name: row.name, change: kind, rankBefore, rankAfter };
}

/**
 * Returns the objects that entered, left, or have another rank among the objects that stayed. An
 * object that only moved up because an object before it left is not included.
 */
export function changesBetween(before: Neighbor[], after: Neighbor[]): ListChange[] {
  const rankBefore = new Map(before.map((row, i) => [row.id, i + 1]));
  const rankAfter = new Map(after.map((row, i) => [row.id, i + 1]));
  const stayedBefore = before.filter((row) => rankAfter.has(row.id));
  const orderBefore = new Map(stayedBefore.map((row, i) => [row.id, i]));
  const changes: ListChange[] = [];
  let order = 0;
  after.forEach((row, i) => {
    const from = rankBefore.get(row.id) ?? 0;
    if (from === 0) {
      changes.push(change(row, "entered", 0, i + 1));
      return;
    }
    const moved = order++ - (orderBefore.get(row.id) ?? 0);
    if (moved !== 0) changes.push(change(row, moved < 0 ? "nearer" : "farther", from, i + 1));
  });
  before.forEach((row, i) => {
    if (!rankAfter.has(row.id)) changes.push(change(row, "left", i + 1, 0));
  });
  return changes;
}

export interface LoggedList {
  list: NeighborList;
  changes: ListChange[];
}

const LISTS_MAX = 3000;

/** The lists of one question, oldest first. */
export class ListLog {
  private entries: LoggedList[] = [];

  push(list: NeighborList): void {
    const last = this.entries.at(-1)?.list;
    if (last && list.tick <= last.tick) return;
    const changes = last ? changesBetween(last.neighbors, list.neighbors) : [];
    this.entries.push({ list, changes });
    if (this.entries.length > LISTS_MAX) this.entries.shift();
  }

  /** Returns null if the log has no list of that tick. */
  ofTick(tick: number): NeighborList | null {
    return this.entries.find(({ list }) => list.tick === tick)?.list ?? null;
  }

  /** Returns the changes of the `windowUs` before a time, the newest first, with their times. */
  changesUntil(timeUs: number, windowUs: number): (ListChange & { timeUs: number })[] {
    const found: (ListChange & { timeUs: number })[] = [];
    for (let i = this.entries.length - 1; i >= 0; --i) {
      const { list, changes } = this.entries[i];
      if (list.timeUs > timeUs) continue;
      if (list.timeUs <= timeUs - windowUs) break;
      for (const one of changes) found.push({ ...one, timeUs: list.timeUs });
    }
    return found;
  }

  clear(): void {
    this.entries = [];
  }
}
