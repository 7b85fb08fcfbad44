// SPDX-License-Identifier: Apache-2.0
// Converts positions to the map's plane and back. The plane's y grows downwards, as on a screen. In
// wgs84 it is Mercator's square, 0 to 1; in a planar space it is metres.
import type { Rectangle, Space } from "../world/types";

export interface Projection {
  toPlane(x: number, y: number): [number, number];
  fromPlane(planeX: number, planeY: number): [number, number];
  /** The plane's edges, beyond which the map does not go. */
  edges: [[number, number], [number, number]];
  /** The least and the largest scale of the map, in CSS pixels per unit of the plane. */
  scales: [number, number];
}

/** The latitude at the edge of Mercator's square, in degrees. */
export const LATITUDE_MAX = 85.0511287798066;
/** No planar server has objects farther from 0. */
const PLANAR_EDGE_M = 1e11;

export const mercator: Projection = {
  toPlane(lon, lat) {
    const phi = (Math.min(LATITUDE_MAX, Math.max(-LATITUDE_MAX, lat)) * Math.PI) / 180;
    return [lon / 360 + 0.5, 0.5 - Math.log(Math.tan(Math.PI / 4 + phi / 2)) / (2 * Math.PI)];
  },
  fromPlane(planeX, planeY) {
    const phi = 2 * Math.atan(Math.exp((0.5 - planeY) * 2 * Math.PI)) - Math.PI / 2;
    return [(planeX - 0.5) * 360, (phi * 180) / Math.PI];
  },
  edges: [
    [0, 0],
    [1, 1],
  ],
  scales: [64, 2 ** 36],
};

export const planar: Projection = {
  toPlane: (x, y) => [x, -y],
  fromPlane: (planeX, planeY) => [planeX, -planeY],
  edges: [
    [-PLANAR_EDGE_M, -PLANAR_EDGE_M],
    [PLANAR_EDGE_M, PLANAR_EDGE_M],
  ],
  scales: [1e-7, 1e5],
};

export function projectionOf(space: Space): Projection {
  return space === "wgs84" ? mercator : planar;
}

/** The zoom of the map: screen = plane × scale + offset, in CSS pixels. */
export interface Zoom {
  k: number;
  x: number;
  y: number;
}

/**
 * Returns the rectangle of positions that a screen shows, plus `margin` times its size on each
 * side.
 */
export function rectangleOf(
  projection: Projection,
  zoom: Zoom,
  width: number,
  height: number,
  margin: number,
): Rectangle {
  const [[leftMost, topMost], [rightMost, bottomMost]] = projection.edges;
  const left = Math.max((-margin * width - zoom.x) / zoom.k, leftMost);
  const right = Math.min(((1 + margin) * width - zoom.x) / zoom.k, rightMost);
  const top = Math.max((-margin * height - zoom.y) / zoom.k, topMost);
  const bottom = Math.min(((1 + margin) * height - zoom.y) / zoom.k, bottomMost);
  const [xMin, yMax] = projection.fromPlane(left, top);
  const [xMax, yMin] = projection.fromPlane(right, bottom);
  return { xMin, yMin, xMax, yMax };
}

/** Returns the zoom at which a rectangle of positions fills a screen. */
export function zoomTo(
  projection: Projection,
  rectangle: Rectangle,
  width: number,
  height: number,
): Zoom {
  const [left, top] = projection.toPlane(rectangle.xMin, rectangle.yMax);
  const [right, bottom] = projection.toPlane(rectangle.xMax, rectangle.yMin);
  const k = Math.min(width / (right - left), height / (bottom - top));
  return {
    k,
    x: width / 2 - (k * (left + right)) / 2,
    y: height / 2 - (k * (top + bottom)) / 2,
  };
}

/**
 * Returns the zoom that shows a place of the plane in the middle of a screen. Clamps the place and
 * the scale to the projection's limits.
 */
export function zoomAround(
  projection: Projection,
  [planeX, planeY]: [number, number],
  scale: number,
  width: number,
  height: number,
): Zoom {
  const [[left, top], [right, bottom]] = projection.edges;
  const k = Math.min(projection.scales[1], Math.max(projection.scales[0], scale));
  const x = Math.min(right, Math.max(left, planeX));
  const y = Math.min(bottom, Math.max(top, planeY));
  return { k, x: width / 2 - k * x, y: height / 2 - k * y };
}
