// SPDX-License-Identifier: Apache-2.0
// Why an object is not among the k nearest: its own distance and rank beside the k-th distance.
import { distanceBetween } from "../world/distance";
import { filterText, passes } from "../world/filter";
import type { NeighborList, ObjectId, Question, Space, World } from "../world/types";
import { K_MAX } from "./link";

export interface WhyNot {
  id: ObjectId;
  /** 0: not among the K_MAX nearest. */
  rank: number;
  /** Null: the server does not have the object any more. */
  distance: number | null;
  /** The rank and the distance of the last object in the list. */
  k: number;
  kthDistance: number;
  /** The filter's text if the object does not pass it, else the empty text. */
  leftOutBy: string;
}

/**
 * Returns null if the object is among the k nearest. `list` has the K_MAX nearest. If it lacks the
 * object, the server is asked where the object is.
 */
export async function whyNot(
  world: World,
  space: Space,
  question: Question,
  list: NeighborList,
  id: ObjectId,
): Promise<WhyNot | null> {
  const why = whyNotIn(list, question.k, id);
  if (!why || why.rank > 0) return why;
  const { anchor, filter } = question;
  const from = anchor.kind === "object" ? await world.object(anchor.id) : anchor;
  const other = await world.object(id);
  if (!from || !other) return why;
  const distance = distanceBetween(
    space,
    [from.x, from.y, from.z ?? 0],
    [other.x, other.y, other.z],
  );
  const isAllowed =
    passes(filter, other.tags) &&
    distance <= filter.distanceMaxM &&
    list.timeUs - other.timeUs <= filter.ageMaxUs;
  return { ...why, distance, leftOutBy: isAllowed ? "" : filterText(filter) };
}

function whyNotIn(list: NeighborList, kAsked: number, id: ObjectId): WhyNot | null {
  const place = list.neighbors.findIndex((row) => row.id === id);
  if (place >= 0 && place < kAsked) return null;
  const k = Math.min(kAsked, list.neighbors.length);
  return {
    id,
    rank: place + 1,
    distance: place < 0 ? null : list.neighbors[place].distance,
    k,
    kthDistance: list.neighbors[k - 1]?.distance ?? NaN,
    leftOutBy: "",
  };
}

export function distanceText(distance: number, isMetres: boolean): string {
  if (!Number.isFinite(distance)) return "–";
  if (!isMetres) return distance.toPrecision(6);
  if (distance >= 100000) return `${(distance / 1000).toFixed(1)} km`;
  if (distance >= 10000) return `${(distance / 1000).toFixed(2)} km`;
  return `${distance.toFixed(distance < 100 ? 2 : 1)} m`;
}

export function whyNotSentence(why: WhyNot, label: string, isMetres: boolean): string {
  const kth = `number ${why.k} is at ${distanceText(why.kthDistance, isMetres)}`;
  if (why.distance === null) return `${label} is not among the ${K_MAX} nearest; ${kth}.`;
  const own = distanceText(why.distance, isMetres);
  if (why.leftOutBy)
    return `${label} is at ${own}, but the question is for objects ${why.leftOutBy}.`;
  const more = distanceText(why.distance - why.kthDistance, isMetres);
  const rank = why.rank > 0 ? `number ${why.rank}` : `beyond number ${K_MAX}`;
  return `${label} is ${rank}, at ${own}; ${kth}, ${more} nearer.`;
}
