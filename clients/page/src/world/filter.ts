// SPDX-License-Identifier: Apache-2.0
// Filters of questions: whether tags pass a filter, and its text for the user.
import type { Filter } from "./types";

export function passes(filter: Filter, tags: number): boolean {
  const hasAll = (tags & filter.tagsRequired) >>> 0 === filter.tagsRequired;
  return hasAll && (tags & filter.tagsForbidden) === 0;
}

/** Returns the empty text for a filter that asks for nothing. */
export function filterText(filter: Filter): string {
  const parts: string[] = [];
  if (filter.tagsRequired) parts.push(`with tags ${bits(filter.tagsRequired)}`);
  if (filter.tagsForbidden) parts.push(`without tags ${bits(filter.tagsForbidden)}`);
  if (filter.distanceMaxM < Infinity) parts.push(`within ${filter.distanceMaxM} m`);
  if (filter.ageMaxUs < Infinity) parts.push(`not older than ${filter.ageMaxUs / 1e6} s`);
  return parts.join(", ");
}

function bits(tags: number): string {
  const set: number[] = [];
  for (let bit = 0; bit < 32; ++bit) if ((tags >>> bit) & 1) set.push(bit);
  return set.join(", ");
}
