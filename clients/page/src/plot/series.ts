// SPDX-License-Identifier: Apache-2.0
// The data of a plot over one axis: its points, the highest value in view, and the point nearest
// the pointer.
import { lengthOf, type Range } from "./range";

export interface Series {
  name: string;
  /** One value for each x; null where the series has no point. */
  values: (number | null)[];
}

export interface XPlot {
  /** `stack` draws each series on top of the series before it. `bars` has one series. */
  kind: "lines" | "stack" | "bars";
  title: string;
  xTitle: string;
  yTitle: string;
  /** Ascending. */
  x: number[];
  /** How much of the x axis a point stands for: the width of a bar, or of a time bucket. */
  width: number;
  whole: Range;
  series: Series[];
  /** Shows the last point's values while no other point is read. */
  readsLast?: boolean;
  /** xText and valueText write a point's x and value for the read-out and the table. */
  xText: (x: number) => string;
  valueText: (value: number) => string;
  xTickText?: (value: number, step: number) => string;
  yTickText?: (value: number, step: number) => string;
}

/** Returns the class of a series' colour. A single series is blue. */
export function colourOf(plot: XPlot, series: number): string {
  const alone = 4;
  return `tag-${plot.series.length === 1 ? alone : series + 1}`;
}

/** Returns the index of the x nearest to `at`; -1 if the series is empty. */
export function nearestIndex(x: readonly number[], at: number): number {
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at - x[middle] <= x[middle + 1] - at) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** Returns the series on top of each other. A missing value counts as 0. */
export function stacked(series: readonly Series[]): number[][] {
  const below: number[] = series[0]?.values.map(() => 0) ?? [];
  return series.map(({ values }) => values.map((value, i) => (below[i] += value ?? 0)));
}

/** The heights at which the series are drawn. */
export function heights(plot: XPlot): (number | null)[][] {
  return plot.kind === "stack" ? stacked(plot.series) : plot.series.map(({ values }) => values);
}

/** Returns the highest drawn value of the points in view. A bar counts if part of it is in view. */
export function highest(plot: XPlot, view: Range): number {
  const slack = lengthOf(plot.whole) * 1e-9;
  const reach = plot.kind === "bars" ? plot.width / 2 - slack : slack;
  const isInView = (x: number) => x + reach > view.low && x - reach < view.high;
  let most = 0;
  for (const values of heights(plot))
    values.forEach((value, i) => {
      if (value !== null && isInView(plot.x[i])) most = Math.max(most, value);
    });
  return most;
}
