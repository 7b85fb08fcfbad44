// SPDX-License-Identifier: Apache-2.0
// Turns the plots in a report of `starling simulate` (sim/city/report/plot_json.hpp) into plots that
// can be shown.
import { numberText } from "../plot/axis";
import type { XPlot } from "../plot/series";
import type { MapPlot } from "../plot/squares";

interface LineData {
  kind: "lines";
  title: string;
  x_title: string;
  y_title: string;
  x_unit: string;
  y_unit: string;
  /** The length of a bucket. Each point is in the middle of its bucket. */
  bucket: number;
  series: { name: string; points: [number, number][] }[];
}

interface BarData {
  kind: "bars";
  title: string;
  x_title: string;
  y_title: string;
  x_unit: string;
  y_unit: string;
  bar_width: number;
  heights: number[];
}

interface MapData {
  kind: "map";
  title: string;
  note: string;
  low: [number, number];
  cell: number;
  columns: number;
  rows: number;
  cells: number[];
}

export type PlotData = LineData | BarData | MapData;

export function toPlot(data: PlotData): XPlot | MapPlot {
  if (data.kind === "lines") return toLines(data);
  return data.kind === "bars" ? toBars(data) : toMap(data);
}

const withUnit = (text: string, unit: string) => (unit === "%" ? `${text} %` : `${text} ${unit}`);

/** Names the ends of a bucket or bar by its middle. */
function bucketText(width: number, unit: string): (middle: number) => string {
  return (middle) =>
    withUnit(`${endText(middle - width / 2)} to ${endText(middle + width / 2)}`, unit);
}

/** Writes a number without the rounding errors of adding and halving. */
function endText(value: number): string {
  return numberText(Number(value.toPrecision(12)));
}

/** Each series gets a value, or null, for each x of any series. */
function toLines(data: LineData): XPlot {
  const { title, x_title: xTitle, y_title: yTitle, bucket } = data;
  const x = [...new Set(data.series.flatMap(({ points }) => points.map(([at]) => at)))];
  x.sort((a, b) => a - b);
  const last = x.at(-1) ?? 1;
  return {
    kind: "lines",
    title,
    xTitle,
    yTitle,
    x,
    width: bucket,
    whole: { low: Math.min(0, x[0] ?? 0), high: last + bucket / 2 },
    series: data.series.map(({ name, points }) => {
      const byX = new Map(points);
      return { name, values: x.map((at) => byX.get(at) ?? null) };
    }),
    xText: bucketText(bucket, data.x_unit),
    valueText: (value) => withUnit(numberText(value), data.y_unit),
  };
}

function toBars(data: BarData): XPlot {
  const { title, x_title: xTitle, y_title: yTitle, bar_width: width, heights } = data;
  return {
    kind: "bars",
    title,
    xTitle,
    yTitle,
    x: heights.map((_, i) => (i + 0.5) * width),
    width,
    whole: { low: 0, high: Math.max(1, heights.length) * width },
    series: [{ name: yTitle, values: heights }],
    xText: bucketText(width, data.x_unit),
    valueText: (value) => withUnit(numberText(value), data.y_unit),
  };
}

function toMap(data: MapData): MapPlot {
  const { title, note, low, cell, columns, rows, cells } = data;
  const [lowX, lowY] = low;
  const valueText = (value: number) =>
    value === 1 ? "1 request" : `${numberText(value)} requests`;
  return { kind: "map", title, note, lowX, lowY, cell, columns, rows, cells, valueText };
}
