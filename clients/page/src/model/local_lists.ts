// SPDX-License-Identifier: Apache-2.0
// Computes lists from a frame's rounded positions, for moments without a list of the server. The
// page says that these lists are approximate.
import { distanceBetween, type Point } from "../world/distance";
import { positionAt } from "../world/quantise";
import { passes } from "../world/filter";
import type { NeighborList, ObjectFrame, ObjectTable, Question, Space } from "../world/types";

/** Keeps the last list, because it is drawn more often than it changes. */
export class LocalLists {
  private last: { frame: ObjectFrame; question: Question; list: NeighborList | null } | null = null;

  constructor(private readonly table: ObjectTable) {}

  find(frame: ObjectFrame, space: Space, question: Question): NeighborList | null {
    const { last } = this;
    const isSame =
      last?.frame === frame &&
      last.question.anchor === question.anchor &&
      last.question.k === question.k &&
      last.question.filter === question.filter;
    if (isSame) return last.list;
    const list = listFromFrame(frame, this.table, space, question);
    this.last = { frame, question, list };
    return list;
  }
}

/** Returns null if the frame does not have the anchor. */
export function listFromFrame(
  frame: ObjectFrame,
  table: ObjectTable,
  space: Space,
  { anchor, k, filter }: Question,
): NeighborList | null {
  const self = anchor.kind === "object" ? table.indexOf(anchor.id) : -1;
  const from = anchor.kind === "place" ? point(anchor.x, anchor.y) : pointOf(frame, self);
  if (!from) return null;
  const nearest: { index: number; distance: number }[] = [];
  for (let i = 0; i < frame.objects.length; ++i) {
    if (frame.objects[i] === self || !passes(filter, frame.tags[i])) continue;
    const distance = distanceBetween(space, from, point(...positionAt(frame, i)));
    if (distance > filter.distanceMaxM) continue;
    if (nearest.length === k && distance >= nearest[k - 1].distance) continue;
    if (nearest.length === k) nearest.pop();
    const place = nearest.findIndex((row) => row.distance > distance);
    nearest.splice(place < 0 ? nearest.length : place, 0, { index: frame.objects[i], distance });
  }
  return {
    tick: frame.tick,
    timeUs: frame.timeUs,
    neighbors: nearest.map(({ index, distance }) => ({
      id: table.id(index),
      name: table.name(index),
      distance,
    })),
  };
}

function point(x: number, y: number): Point {
  return [x, y, 0];
}

function pointOf(frame: ObjectFrame, object: number): Point | null {
  const i = frame.objects.indexOf(object);
  return i < 0 ? null : point(...positionAt(frame, i));
}
