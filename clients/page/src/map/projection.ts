// SPDX-License-Identifier: Apache-2.0
// From positions to the map's plane and back. The plane's y grows downwards, as a screen's does. In
// wgs84 it is Mercator's square, 0 to 1; in a planar space it is metres.
import type { Rectangle, Space } from "../world/types";

export interface Projection {
  toPlane(x: number, y: number): [number, number];
  fromPlane(planeX: number, planeY: number): [number, number];
  /** The plane's edges beyond which there is nothing; null if there are none. */
  edges: [[number, number], [number, number]] | null;
}

/** Mercator's square ends here. */
export const LATITUDE_MAX = 85.0511287798066;

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
};

export const planar: Projection = {
  toPlane: (x, y) => [x, -y],
  fromPlane: (planeX, planeY) => [planeX, -planeY],
  edges: null,
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

/** Returns the rectangle of positions that a screen shows, wider by `margin` of it on each side. */
export function rectangleOf(
  projection: Projection,
  zoom: Zoom,
  width: number,
  height: number,
  margin: number,
): Rectangle {
  let left = (-margin * width - zoom.x) / zoom.k;
  let right = ((1 + margin) * width - zoom.x) / zoom.k;
  let top = (-margin * height - zoom.y) / zoom.k;
  let bottom = ((1 + margin) * height - zoom.y) / zoom.k;
  if (projection.edges) {
    const [[xMin, yMin], [xMax, yMax]] = projection.edges;
    left = Math.max(left, xMin);
    right = Math.min(right, xMax);
    top = Math.max(top, yMin);
    bottom = Math.min(bottom, yMax);
  }
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
