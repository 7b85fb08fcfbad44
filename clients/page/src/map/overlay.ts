// SPDX-License-Identifier: Apache-2.0
// Draws over the objects: marks of standing queries, a ring around the chosen object, lines to its
// neighbours with their ranks, and a ring around the object under the pointer.
import type { Model } from "../model/model";
import type { Place } from "../model/places";
import { distanceText } from "../model/why_not";
import type { StandingQuery } from "../world/types";
import { Pen, type Pixel } from "./pen";
import type { Projection, Zoom } from "./projection";
import type { Theme } from "./theme";

/** Half the width of the diamond that marks a standing query. */
const QUERY_MARK_PX = 7;
/** With more neighbours than this, their ranks and names are not drawn. */
const LABELS_MAX = 12;

export function drawOverlay(
  context: CanvasRenderingContext2D,
  model: Model,
  projection: Projection,
  zoom: Zoom,
  pixelRatio: number,
  theme: Theme,
): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  const shown = model.shownList();
  const rows = shown && !shown.isApart ? shown.list.neighbors : [];
  const ids = rows.map((row) => row.id);
  const { anchor, hovered } = model;
  if (anchor?.kind === "object") ids.push(anchor.id);
  if (hovered) ids.push(hovered);
  const pixelOf = (place: Place | undefined): Pixel | null => {
    if (!place) return null;
    const [x, y] = projection.toPlane(...place);
    return [x * zoom.k + zoom.x, y * zoom.k + zoom.y];
  };
  // An object whose place is on the map will be in the next frame. Until then it is hidden, because
  // its place from the server is of another tick.
  const hides = (place: Place) => {
    const [x, y] = pixelOf(place) as Pixel;
    return x >= 0 && x <= width && y >= 0 && y <= height;
  };
  const hasObjects = model.shownFrame()?.kind === "objects";
  const places = model.positions(ids, hasObjects ? hides : undefined);
  const centre = pixelOf(
    anchor?.kind === "place" ? [anchor.x, anchor.y] : anchor ? places.get(anchor.id) : undefined,
  );
  const [[leftMost], [rightMost]] = projection.edges;
  const worldPx = (rightMost - leftMost) * zoom.k;
  const pen = new Pen(context, pixelRatio, theme);
  for (const [, place] of model.queryPlaces()) {
    const mark = pixelOf(place);
    if (mark) pen.diamond(mark, QUERY_MARK_PX, theme.accent);
  }
  const linkColour = shown?.isApproximate ? theme.linkPast : theme.link;
  if (centre) {
    for (const row of rows) {
      const end = pixelOf(places.get(row.id));
      if (!end) continue;
      for (const line of linesBetween(centre, end, worldPx)) pen.line(...line, linkColour, 2, []);
    }
  }
  const over = hovered ? pixelOf(places.get(hovered)) : null;
  if (over && centre && model.whyNot)
    for (const line of linesBetween(centre, over, worldPx))
      pen.line(...line, theme.text, 1, [4, 4]);
  if (over && hovered) drawHovered(pen, model, hovered, over, theme);
  if (centre) pen.ring(centre, 10, theme.accent, 3);
  if (centre && anchor?.kind === "object") pen.label(centre, model.label(anchor.id));
  rows.forEach((row, i) => {
    const end = pixelOf(places.get(row.id));
    if (!end) return;
    pen.ring(end, 7, linkColour);
    if (rows.length > LABELS_MAX) return;
    pen.label(end, `${i + 1} · ${row.name ?? row.id}`);
  });
}

/**
 * Returns the lines that join two places on a map that is `worldPx` wide. If the way over the map's
 * edges is shorter, as at the antimeridian, one line leaves the map and another line enters it.
 */
export function linesBetween(from: Pixel, to: Pixel, worldPx: number): [Pixel, Pixel][] {
  const apart = to[0] - from[0];
  if (Math.abs(apart) <= worldPx / 2) return [[from, to]];
  const shift = apart > 0 ? -worldPx : worldPx;
  return [
    [from, [to[0] + shift, to[1]]],
    [[from[0] - shift, from[1]], to],
  ];
}

/** Returns the query whose mark is at a pixel, or null. */
export function queryNear(
  places: [StandingQuery, [number, number]][],
  projection: Projection,
  zoom: Zoom,
  pixel: Pixel,
): StandingQuery | null {
  const isNear = ([, place]: [StandingQuery, [number, number]]) => {
    const [x, y] = projection.toPlane(...place);
    const dx = x * zoom.k + zoom.x - pixel[0];
    const dy = y * zoom.k + zoom.y - pixel[1];
    return Math.hypot(dx, dy) <= QUERY_MARK_PX + 2;
  };
  return places.find(isNear)?.[0] ?? null;
}

function drawHovered(
  pen: Pen,
  model: Model,
  id: string,
  over: Pixel,
  theme: Theme,
): void {
  const why = model.whyNot;
  pen.ring(over, 9, theme.text);
  const rank = why?.rank ? `${why.rank} · ` : "";
  const distance =
    why && why.distance !== null ? ` · ${distanceText(why.distance, model.hasMap)}` : "";
  pen.label(over, `${rank}${model.label(id)}${distance}`);
}
