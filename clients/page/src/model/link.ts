// SPDX-License-Identifier: Apache-2.0
// The part of the page's address after "#": the place, the question and the time that the page
// shows.
import { NO_FILTER, type Anchor, type Filter } from "../world/types";

export interface Link {
  /** The middle of the map, and the binary logarithm of its scale. */
  view: { x: number; y: number; zoom: number } | null;
  anchor: Anchor | null;
  k: number;
  filter: Filter;
  /** Null: live. */
  timeUs: number | null;
}

export const K_DEFAULT = 5;
export const K_MAX = 1024;

export function clampK(k: number): number {
  return Number.isFinite(k) ? Math.min(K_MAX, Math.max(1, Math.round(k))) : K_DEFAULT;
}

/** Returns a number with 9 digits, as many as a place on a map needs. */
function short(value: number): string {
  return String(Number(value.toPrecision(9)));
}

function placeText({ x, y, z }: { x: number; y: number; z?: number }): string {
  return (z ? [x, y, z] : [x, y]).map(short).join(",");
}

const FILTER_FIELDS: [keyof Filter, string][] = [
  ["tagsRequired", "tags_required"],
  ["tagsForbidden", "tags_forbidden"],
  ["distanceMaxM", "distance_max_m"],
  ["ageMaxUs", "age_max_us"],
];

function parseFilter(fields: URLSearchParams): Filter {
  const filter = { ...NO_FILTER };
  for (const [name, field] of FILTER_FIELDS) {
    const value = Number(fields.get(field) ?? NaN);
    if (value >= 0) filter[name] = value;
  }
  return filter;
}

export function formatLink(link: Link): string {
  const fields = new URLSearchParams();
  if (link.view) {
    fields.set("at", placeText(link.view));
    fields.set("zoom", link.view.zoom.toFixed(2));
  }
  if (link.anchor?.kind === "object") fields.set("object", link.anchor.id);
  if (link.anchor?.kind === "place") fields.set("place", placeText(link.anchor));
  if (link.anchor) {
    fields.set("k", String(link.k));
    for (const [name, field] of FILTER_FIELDS)
      if (link.filter[name] !== NO_FILTER[name]) fields.set(field, String(link.filter[name]));
  }
  if (link.timeUs !== null) fields.set("time", String(link.timeUs));
  return `#${fields.toString().replaceAll("%2C", ",")}`;
}

/** Returns the 2 to `countMax` numbers of a text such as "1,2.5"; null if it is another text. */
function numbersOf(text: string | null, countMax: number): number[] | null {
  const numbers = (text ?? "").split(",").map((part) => (part.trim() ? Number(part) : NaN));
  const isWrong = numbers.length < 2 || numbers.length > countMax;
  return isWrong || !numbers.every(Number.isFinite) ? null : numbers;
}

function parsePlace(text: string | null): Anchor | null {
  const numbers = numbersOf(text, 3);
  if (!numbers) return null;
  const [x, y, z] = numbers;
  return z ? { kind: "place", x, y, z } : { kind: "place", x, y };
}

/** Reads a link. A field that cannot be read counts as absent. */
export function parseLink(hash: string): Link {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const at = numbersOf(fields.get("at"), 2);
  const zoom = Number(fields.get("zoom") ?? NaN);
  const object = fields.get("object");
  const time = Number(fields.get("time") ?? NaN);
  return {
    view: at && Number.isFinite(zoom) ? { x: at[0], y: at[1], zoom } : null,
    anchor: object ? { kind: "object", id: object } : parsePlace(fields.get("place")),
    k: clampK(Number(fields.get("k") ?? K_DEFAULT)),
    filter: parseFilter(fields),
    timeUs: Number.isSafeInteger(time) ? time : null,
  };
}
