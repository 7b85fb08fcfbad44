// SPDX-License-Identifier: Apache-2.0
// Why an object is not among the k nearest: its own distance and rank beside the k-th distance.
import type { NeighborList, ObjectId, Question, World } from "../world/types";
import { K_MAX } from "./link";

export interface WhyNot {
  id: ObjectId;
  /** 0: beyond the ranks that the server tells. */
  rank: number;
  distance: number | null;
  kthDistance: number;
  k: number;
}

/** Asks the server; returns null if the object is among the k nearest. */
export async function whyNot(
  world: World,
  question: Question,
  id: ObjectId,
): Promise<WhyNot | null> {
  const list = await world.neighbors({ ...question, k: K_MAX });
  return whyNotIn(list, question.k, id);
}

export function whyNotIn(list: NeighborList, k: number, id: ObjectId): WhyNot | null {
  const place = list.neighbors.findIndex((row) => row.id === id);
  if (place >= 0 && place < k) return null;
  const kth = list.neighbors[Math.min(k, list.neighbors.length) - 1];
  return {
    id,
    rank: place + 1,
    distance: place < 0 ? null : list.neighbors[place].distance,
    kthDistance: kth ? kth.distance : NaN,
    k,
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
  if (why.distance === null)
    return `${label} is not among the ${K_MAX} nearest that pass the filter; ${kth}.`;
  const own = distanceText(why.distance, isMetres);
  const more = distanceText(why.distance - why.kthDistance, isMetres);
  return `${label} is number ${why.rank}, at ${own}; ${kth}, ${more} nearer.`;
}
