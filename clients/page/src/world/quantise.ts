// SPDX-License-Identifier: Apache-2.0
// Positions of a view are 16-bit steps between the edges of its rectangle.
import type { ObjectFrame, Rectangle } from "./types";

export const STEPS_MAX = 65535;

/** Returns the step nearest to `value`; values beyond an edge get the edge. */
export function quantise(value: number, min: number, max: number): number {
  if (!(max > min)) return 0;
  const step = Math.round(((value - min) / (max - min)) * STEPS_MAX);
  return Math.min(STEPS_MAX, Math.max(0, step));
}

export function dequantise(step: number, min: number, max: number): number {
  return min + (step / STEPS_MAX) * (max - min);
}

/** Returns x, y of the i-th object of a frame. */
export function positionAt(frame: ObjectFrame, i: number): [number, number] {
  const { xMin, xMax, yMin, yMax } = frame.rectangle;
  return [dequantise(frame.xy[2 * i], xMin, xMax), dequantise(frame.xy[2 * i + 1], yMin, yMax)];
}

/** Returns the places of the `wanted` objects (indexes of World.objects) that the frame has. */
export function positionsOf(
  frame: ObjectFrame,
  wanted: ReadonlySet<number>,
): Map<number, [number, number]> {
  const found = new Map<number, [number, number]>();
  if (wanted.size === 0) return found;
  const objects = frame.objects;
  for (let i = 0; i < objects.length && found.size < wanted.size; ++i)
    if (wanted.has(objects[i])) found.set(objects[i], positionAt(frame, i));
  return found;
}

export function contains(outer: Rectangle, inner: Rectangle): boolean {
  return (
    outer.xMin <= inner.xMin &&
    outer.yMin <= inner.yMin &&
    outer.xMax >= inner.xMax &&
    outer.yMax >= inner.yMax
  );
}
