// SPDX-License-Identifier: Apache-2.0
// Ranges of an axis, and how a plot zooms and moves within its whole range.
export interface Range {
  low: number;
  high: number;
}

export const ZOOM_FACTOR = 1.5;

export function lengthOf({ low, high }: Range): number {
  return high - low;
}

/** Moves `range` into `whole`, and shortens it if it is longer. */
export function within(range: Range, whole: Range): Range {
  const length = Math.min(lengthOf(range), lengthOf(whole));
  const low = Math.min(Math.max(range.low, whole.low), whole.high - length);
  return { low, high: low + length };
}

/** Returns the range between two ends of a drag, in any order, at least `lengthMin` long. */
export function dragged(from: number, to: number, whole: Range, lengthMin: number): Range {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const missing = Math.max(0, lengthMin - (high - low)) / 2;
  return within({ low: low - missing, high: high + missing }, whole);
}

/** Makes `range` shorter by `factor`. The value `at` keeps its place on the screen if it can. */
export function zoomed(
  range: Range,
  factor: number,
  at: number,
  whole: Range,
  lengthMin: number,
): Range {
  const length = Math.max(lengthOf(range) / factor, Math.min(lengthMin, lengthOf(whole)));
  const low = at - ((at - range.low) * length) / lengthOf(range);
  return within({ low, high: low + length }, whole);
}

/** Moves `range` as little as needed to contain `value` with `margin` on both sides. */
export function moved(range: Range, value: number, margin: number, whole: Range): Range {
  let { low, high } = range;
  if (value - margin < low) [low, high] = [value - margin, high + (value - margin - low)];
  else if (value + margin > high) [low, high] = [low + (value + margin - high), value + margin];
  return within({ low, high }, whole);
}

export function isWhole(range: Range, whole: Range): boolean {
  return range.low <= whole.low && range.high >= whole.high;
}
