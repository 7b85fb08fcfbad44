// SPDX-License-Identifier: Apache-2.0
// What lies over the objects: the chosen one, links to its neighbours with their ranks, and the
// object under the pointer.
import type { Model } from "../model/model";
import { distanceText } from "../model/why_not";
import type { Projection, Zoom } from "./projection";
import type { Theme } from "./theme";

type Pixel = [number, number];

/** Half the width of the diamond that marks a standing query. */
export const QUERY_MARK_PX = 7;
/** The names of neighbours are drawn while there are few of them. */
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
  const rows = shown?.list.neighbors ?? [];
  const ids = rows.map((row) => row.id);
  const { anchor, hovered } = model;
  if (anchor?.kind === "object") ids.push(anchor.id);
  if (hovered) ids.push(hovered);
  const places = model.positions(ids);
  const pixelOf = (place: [number, number] | undefined): Pixel | null => {
    if (!place) return null;
    const [x, y] = projection.toPlane(...place);
    return [x * zoom.k + zoom.x, y * zoom.k + zoom.y];
  };
  const centre = pixelOf(
    anchor?.kind === "place"
      ? [anchor.x, anchor.y]
      : anchor
        ? places.get(anchor.id)
        : undefined,
  );
  const pen = new Pen(context, pixelRatio, theme);
  for (const { question } of model.queries) {
    if (question.anchor.kind !== "place") continue;
    const mark = pixelOf([question.anchor.x, question.anchor.y]);
    if (mark) pen.diamond(mark, QUERY_MARK_PX, theme.accent);
  }
  const linkColour = shown?.isApproximate ? theme.linkPast : theme.link;
  if (centre) {
    for (const row of rows) {
      const end = pixelOf(places.get(row.id));
      if (end) pen.line(centre, end, linkColour, 2, []);
    }
  }
  const over = hovered ? pixelOf(places.get(hovered)) : null;
  if (over && hovered) drawHovered(pen, model, hovered, over, centre, theme);
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

function drawHovered(
  pen: Pen,
  model: Model,
  id: string,
  over: Pixel,
  centre: Pixel | null,
  theme: Theme,
): void {
  const why = model.whyNot;
  if (why && centre) pen.line(centre, over, theme.text, 1, [4, 4]);
  pen.ring(over, 9, theme.text);
  const rank = why?.rank ? `${why.rank} · ` : "";
  const distance =
    why && why.distance !== null ? ` · ${distanceText(why.distance, model.isMetric)}` : "";
  pen.label(over, `${rank}${model.label(id)}${distance}`);
}

/** Draws in CSS pixels on a canvas of the screen's pixels. */
class Pen {
  private readonly labels: { x: number; y: number; width: number; height: number }[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly pixelRatio: number,
    private readonly theme: Theme,
  ) {
    context.font = `600 ${12 * pixelRatio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
  }

  line(from: Pixel, to: Pixel, colour: string, width: number, dash: number[]): void {
    const { context, pixelRatio } = this;
    context.setLineDash(dash.map((length) => length * pixelRatio));
    context.strokeStyle = colour;
    context.lineWidth = width * pixelRatio;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
  }

  diamond(at: Pixel, radius: number, colour: string): void {
    const { context, pixelRatio } = this;
    const reach = radius * pixelRatio;
    context.strokeStyle = colour;
    context.lineWidth = 2 * pixelRatio;
    context.beginPath();
    context.moveTo(at[0], at[1] - reach);
    context.lineTo(at[0] + reach, at[1]);
    context.lineTo(at[0], at[1] + reach);
    context.lineTo(at[0] - reach, at[1]);
    context.closePath();
    context.stroke();
  }

  ring(at: Pixel, radius: number, colour: string, width = 2): void {
    const { context, pixelRatio } = this;
    context.strokeStyle = colour;
    context.lineWidth = width * pixelRatio;
    context.beginPath();
    context.arc(at[0], at[1], radius * pixelRatio, 0, 2 * Math.PI);
    context.stroke();
  }

  /** Writes beside a ring, unless an earlier label is there; so draw the important ones first. */
  label(at: Pixel, text: string): void {
    const { context, pixelRatio, theme } = this;
    const [x, y] = [at[0] + 13 * pixelRatio, at[1]];
    const box = { x, y, width: context.measureText(text).width, height: 15 * pixelRatio };
    const isTaken = this.labels.some(
      (other) =>
        box.x < other.x + other.width &&
        other.x < box.x + box.width &&
        Math.abs(box.y - other.y) < box.height,
    );
    if (isTaken) return;
    this.labels.push(box);
    context.strokeStyle = theme.halo;
    context.lineWidth = 4 * pixelRatio;
    context.strokeText(text, x, y);
    context.fillStyle = theme.text;
    context.fillText(text, x, y);
  }
}
