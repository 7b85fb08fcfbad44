// SPDX-License-Identifier: Apache-2.0
// Draws what is under the objects: the coastline in wgs84, a metric grid and roads in a planar
// space.
import { geoMercator, geoPath } from "d3-geo";
import { feature } from "topojson-client";
import type { Topology } from "topojson-specification";
import type { Road } from "../world/types";
import { planar, type Zoom } from "./projection";
import type { Theme } from "./theme";

/**
 * The side of the coastline's square, in units of its path. A power of two keeps the projection
 * exact.
 */
const COAST_SIZE = 65536;
const GRID_LINES_MIN_PX = 90;
const ROAD_WIDTH_M = 8;
const ROAD_PX_MAX = 14;

/** Loads the outline of the land, in the unit square of Mercator times COAST_SIZE. */
export async function loadCoast(): Promise<Path2D> {
  const answer = await fetch("land-50m.json");
  if (!answer.ok) throw new Error(`land-50m.json: the server answered ${answer.status}`);
  const topology = (await answer.json()) as Topology;
  const land = feature(topology, topology.objects["land"]);
  const projection = geoMercator()
    .scale(COAST_SIZE / (2 * Math.PI))
    .translate([COAST_SIZE / 2, COAST_SIZE / 2])
    .precision(0);
  const path = new Path2D();
  geoPath(projection, path as unknown as CanvasRenderingContext2D)(land);
  return path;
}

/** Returns the roads as a path in the plane's metres. */
export function roadsPath(roads: readonly Road[]): Path2D {
  const path = new Path2D();
  for (const road of roads)
    for (let i = 0; i + 1 < road.length; i += 2) {
      const [x, y] = planar.toPlane(road[i], road[i + 1]);
      if (i === 0) path.moveTo(x, y);
      else path.lineTo(x, y);
    }
  return path;
}

/**
 * Returns ROAD_WIDTH_M in pixels of the screen, but at least 1 and at most ROAD_PX_MAX CSS pixels.
 */
export function roadWidthPx(pxPerMetre: number, pixelRatio: number): number {
  return Math.min(Math.max(ROAD_WIDTH_M * pxPerMetre, pixelRatio), ROAD_PX_MAX * pixelRatio);
}

function drawRoads(
  context: CanvasRenderingContext2D,
  roads: Path2D,
  zoom: Zoom,
  pixelRatio: number,
  theme: Theme,
): void {
  context.setTransform(zoom.k, 0, 0, zoom.k, zoom.x, zoom.y);
  context.strokeStyle = theme.road;
  context.lineWidth = roadWidthPx(zoom.k, pixelRatio) / zoom.k;
  context.lineJoin = "round";
  context.lineCap = "round";
  context.stroke(roads);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

export function drawCoast(
  context: CanvasRenderingContext2D,
  coast: Path2D | null,
  zoom: Zoom,
  theme: Theme,
): void {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = theme.sea;
  context.fillRect(0, 0, width, height);
  if (!coast) return;
  const scale = zoom.k / COAST_SIZE;
  context.setTransform(scale, 0, 0, scale, zoom.x, zoom.y);
  context.fillStyle = theme.land;
  context.fill(coast);
  context.strokeStyle = theme.coast;
  context.lineWidth = 1 / scale;
  context.stroke(coast);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

/** Returns the least of 1, 2, 5 times a power of ten that is at least `length`. */
export function roundStep(length: number): number {
  const power = 10 ** Math.floor(Math.log10(length));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= length * 0.999999) ?? 10;
  return factor * power;
}

export function metresText(metres: number): string {
  return Math.abs(metres) >= 1000 ? `${metres / 1000} km` : `${metres} m`;
}

/**
 * Returns the numbers of the grid's lines on a screen. Line 0 is at `offset` pixels. Far from line
 * 0, doubles cannot hold each number, so some lines may be missing.
 */
export function linesAcross(offset: number, length: number, spacing: number): number[] {
  const first = Math.ceil(-offset / spacing);
  const countMax = Math.ceil(length / spacing) + 1;
  const count = Math.ceil((length - offset - first * spacing) / spacing);
  const lines = Array.from(
    { length: Math.min(countMax, Math.max(0, count)) },
    (_, i) => first + i,
  );
  return [...new Set(lines)];
}

/** Draws the grid, the roads on it if there are some, and the grid's numbers on top. */
export function drawGrid(
  context: CanvasRenderingContext2D,
  roads: Path2D | null,
  zoom: Zoom,
  pixelRatio: number,
  theme: Theme,
): void {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = theme.land;
  context.fillRect(0, 0, width, height);
  const step = roundStep((GRID_LINES_MIN_PX * pixelRatio) / zoom.k);
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  const numbers: [string, number, number][] = [];
  const numberAt = (n: number, x: number, y: number) =>
    numbers.push([metresText(Number((n * step).toFixed(decimals))), x, y]);
  for (const n of linesAcross(zoom.x, width, step * zoom.k)) {
    const x = Math.round(n * step * zoom.k + zoom.x) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
    numberAt(n, x + 4, height - 6);
  }
  for (const n of linesAcross(zoom.y, height, step * zoom.k)) {
    const y = Math.round(n * step * zoom.k + zoom.y) + 0.5;
    context.moveTo(0, y);
    context.lineTo(width, y);
    numberAt(-n, 6, y - 4);
  }
  context.stroke();
  if (roads) drawRoads(context, roads, zoom, pixelRatio, theme);
  context.fillStyle = theme.gridText;
  context.font = `${11 * pixelRatio}px system-ui, sans-serif`;
  for (const number of numbers) context.fillText(...number);
}
