// SPDX-License-Identifier: Apache-2.0
// Where a value is on the screen, which values an axis names, and how numbers are written.
import { lengthOf, type Range } from "./range";

const TICKS_MAX = 1000;

/** Maps a range to pixels. `from` is the pixel of the low end. */
export interface Scale {
  toPx(value: number): number;
  toValue(px: number): number;
}

export function makeScale(range: Range, from: number, to: number): Scale {
  const perValue = (to - from) / lengthOf(range);
  return {
    toPx: (value) => from + (value - range.low) * perValue,
    toValue: (px) => range.low + (px - from) / perValue,
  };
}

/** Returns 1, 2 or 5 times a power of ten, so that at most `countMax` steps fit into `length`. */
export function niceStep(length: number, countMax: number): number {
  const rough = length / countMax;
  const power = 10 ** Math.floor(Math.log10(rough));
  const slack = 1 + 1e-9;
  const factor = [1, 2, 5].find((each) => each * power * slack >= rough) ?? 10;
  return factor * power;
}

/** The multiples of `step` in a range. */
export function ticks({ low, high }: Range, step: number): number[] {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.min(Math.floor(high / step + 1e-9), first + TICKS_MAX);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

export function tickText(value: number, step: number): string {
  const decimals = step >= 1 ? 0 : Math.ceil(-Math.log10(step) - 1e-9);
  return fixedText(value, decimals);
}

/** Writes a value with the digits that matter: whole numbers in full, others with about four. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value)) return fixedText(value, 0);
  if (size >= 1000) return fixedText(value, 0);
  if (size >= 100) return fixedText(value, 1);
  if (size >= 1) return fixedText(value, 2);
  return fixedText(value, Math.min(12, 2 - Math.floor(Math.log10(size))));
}

function fixedText(value: number, decimals: number): string {
  const text = value.toLocaleString("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return /^-[0.,]*$/.test(text) ? text.slice(1) : text;
}

/** The y axis begins at 0, and ends at the first step at or above the highest value. */
export function yRange(highest: number, countMax: number): { range: Range; step: number } {
  const high = highest > 0 ? highest : 1;
  const step = niceStep(high, countMax);
  return { range: { low: 0, high: Math.ceil(high / step - 1e-9) * step }, step };
}
