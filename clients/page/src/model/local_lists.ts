// SPDX-License-Identifier: Apache-2.0
// Lists of a past frame, from its rounded positions: for moments at which the page had not asked
// the server. The page says that they are approximate.
import { distanceBetween, type Point } from "../world/distance";
import { positionAt } from "../world/quantise";
import { passes } from "../world/filter";
import type { NeighborList, ObjectFrame, ObjectTable, Question, Space } from "../world/types";

export function listFromFrame(
  frame: ObjectFrame,
  table: ObjectTable,
  space: Space,
  { anchor, k, filter }: Question,
): NeighborList {
  const self = anchor.kind === "object" ? table.indexOf(anchor.id) : -1;
  const from = anchor.kind === "place" ? point(anchor.x, anchor.y) : pointOf(frame, self);
  const head = { tick: frame.tick, timeUs: frame.timeUs };
  if (!from) return { ...head, neighbors: [] };
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
    ...head,
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
