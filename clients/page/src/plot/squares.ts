// SPDX-License-Identifier: Apache-2.0
// A map of squares that count something: which square is at a place, and how the view zooms.
import { isWhole, lengthOf, within, zoomed, type Range } from "./range";

export interface MapPlot {
  kind: "map";
  title: string;
  note: string;
  /** The place of the lowest square's corner, and the side of a square, in metres. */
  lowX: number;
  lowY: number;
  cell: number;
  columns: number;
  rows: number;
  /** Row by row, the lowest first. */
  cells: number[];
  valueText: (value: number) => string;
}

/** What the map shows, in squares from its lowest corner. */
export interface MapView {
  x: Range;
  y: Range;
}

export interface Square {
  column: number;
  row: number;
}

const SQUARES_MIN = 4;

export function wholeView({ columns, rows }: MapPlot): MapView {
  return { x: { low: 0, high: columns }, y: { low: 0, high: rows } };
}

export function isWholeView(view: MapView, plot: MapPlot): boolean {
  const whole = wholeView(plot);
  return isWhole(view.x, whole.x) && isWhole(view.y, whole.y);
}

/** Returns the smallest view of the map's shape that contains the dragged area. */
export function draggedView(from: Square, to: Square, plot: MapPlot): MapView {
  const whole = wholeView(plot);
  const share = Math.max(
    Math.abs(to.column - from.column) / plot.columns,
    Math.abs(to.row - from.row) / plot.rows,
    Math.min(1, SQUARES_MIN / Math.max(plot.columns, plot.rows)),
  );
  const around = (a: number, b: number, count: number, all: Range) =>
    within(
      { low: (a + b) / 2 - (share * count) / 2, high: (a + b) / 2 + (share * count) / 2 },
      all,
    );
  return {
    x: around(from.column, to.column, plot.columns, whole.x),
    y: around(from.row, to.row, plot.rows, whole.y),
  };
}

export function zoomedView(view: MapView, factor: number, at: Square, plot: MapPlot): MapView {
  const whole = wholeView(plot);
  const share = Math.min(1, SQUARES_MIN / Math.max(plot.columns, plot.rows));
  const most = lengthOf(view.x) / (share * plot.columns);
  const by = Math.min(factor, most);
  return {
    x: zoomed(view.x, by, at.column + 0.5, whole.x, 0),
    y: zoomed(view.y, by, at.row + 0.5, whole.y, 0),
  };
}

export function valueAt({ column, row }: Square, { columns, cells }: MapPlot): number {
  return cells[row * columns + column] ?? 0;
}

/** Names the sides of a square in metres east and north. */
export function placeText({ column, row }: Square, { lowX, lowY, cell }: MapPlot): string {
  const side = (low: number, index: number) =>
    `${Math.round(low + index * cell)} to ${Math.round(low + (index + 1) * cell)} m`;
  return `${side(lowX, column)} east, ${side(lowY, row)} north`;
}

/** Returns the square that holds a place of the map. */
export function clampedSquare({ column, row }: Square, { columns, rows }: MapPlot): Square {
  const inside = (value: number, count: number) =>
    Math.min(Math.max(Math.floor(value), 0), count - 1);
  return { column: inside(column, columns), row: inside(row, rows) };
}

export function middleOf({ x, y }: MapView): Square {
  return { column: Math.floor((x.low + x.high) / 2), row: Math.floor((y.low + y.high) / 2) };
}

export function inMetres({ x, y }: MapView, { lowX, lowY, cell }: MapPlot): MapView {
  const range = (low: number, squares: Range) => ({
    low: low + squares.low * cell,
    high: low + squares.high * cell,
  });
  return { x: range(lowX, x), y: range(lowY, y) };
}
