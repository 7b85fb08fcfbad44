// SPDX-License-Identifier: Apache-2.0
// Finds the rectangle around a frame's objects, with a margin. The map fits its zoom to it.
import { dequantise } from "../world/quantise";
import type { Frame, Rectangle } from "../world/types";

const MARGIN = 0.08;

/**
 * If the objects are within fewer steps than this, the frame is too coarse to show where they are.
 */
const STEPS_MIN = 40;

export interface Bounds {
  rectangle: Rectangle;
  /** False: the frame was too coarse. Call boundsOf again with a frame of about this rectangle. */
  isFine: boolean;
}

/** Returns null if the frame is empty. Each side of the rectangle is at least `sideMin`. */
export function boundsOf(frame: Frame, sideMin: number): Bounds | null {
  const [columns, rows] = frame.kind === "raster" ? [frame.columns, frame.rows] : [65535, 65535];
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  const include = (column: number, row: number, width: number) => {
    left = Math.min(left, column);
    right = Math.max(right, column + width);
    low = Math.min(low, row);
    high = Math.max(high, row + width);
  };
  if (frame.kind === "raster")
    frame.counts.forEach((count, cell) => {
      if (count > 0) include(cell % columns, Math.floor(cell / columns), 1);
    });
  else
    for (let i = 0; i < frame.xy.length; i += 2) include(frame.xy[i] - 1, frame.xy[i + 1] - 1, 2);
  if (left === Infinity) return null;
  const { xMin, xMax, yMin, yMax } = frame.rectangle;
  const at = (step: number, steps: number, min: number, max: number) =>
    dequantise((step / steps) * 65535, min, max);
  const x = widened(at(left, columns, xMin, xMax), at(right, columns, xMin, xMax), sideMin);
  const y = widened(at(low, rows, yMin, yMax), at(high, rows, yMin, yMax), sideMin);
  const rectangle = { xMin: x[0], xMax: x[1], yMin: y[0], yMax: y[1] };
  const isFine = Math.max(right - left, high - low) >= STEPS_MIN || x[1] - x[0] <= 2 * sideMin;
  return { rectangle, isFine };
}

/** Returns the rectangle around places, with a margin; null if there are no places. */
export function boundsOfPlaces(places: [number, number][], sideMin: number): Rectangle | null {
  if (places.length === 0) return null;
  const xs = places.map(([x]) => x);
  const ys = places.map(([, y]) => y);
  const [xMin, xMax] = widened(Math.min(...xs), Math.max(...xs), sideMin, 0.5);
  const [yMin, yMax] = widened(Math.min(...ys), Math.max(...ys), sideMin, 0.5);
  return { xMin, xMax, yMin, yMax };
}

function widened(min: number, max: number, sideMin: number, margin = MARGIN): [number, number] {
  const half = Math.max(sideMin, (max - min) * (1 + 2 * margin)) / 2;
  const middle = (min + max) / 2;
  return [middle - half, middle + half];
}
