// SPDX-License-Identifier: Apache-2.0
// Axes, zoom and read-outs of plots.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeScale, niceStep, numberText, tickText, ticks, yRange } from "../../src/plot/axis";
import { dragged, isWhole, moved, within, zoomed } from "../../src/plot/range";
import { colourOf, highest, nearestIndex, stacked, type XPlot } from "../../src/plot/series";
import {
  clampedSquare,
  draggedView,
  inMetres,
  isWholeView,
  placeText,
  valueAt,
  wholeView,
  zoomedView,
} from "../../src/plot/squares";
import { toPlot, type PlotData } from "../../src/report/report_data";

const WHOLE = { low: 0, high: 60 };

test("a step is 1, 2 or 5 times a power of ten, and never makes too many ticks", () => {
  for (const length of [1e-6, 0.3, 1, 7, 60, 999, 1000, 1001, 123456, 1e12])
    for (const countMax of [2, 3, 5, 10]) {
      const step = niceStep(length, countMax);
      assert.match(step.toExponential(), /^[125](\.0+)?e|^[125]e/);
      assert.ok(length / step <= countMax * (1 + 1e-6), `${length} in steps of ${step}`);
    }
});

test("ticks are the multiples of the step in the range", () => {
  assert.deepEqual(ticks({ low: 0, high: 60 }, 20), [0, 20, 40, 60]);
  assert.deepEqual(ticks({ low: -3, high: 7 }, 5), [0, 5]);
  assert.deepEqual(ticks({ low: 0.1, high: 0.3 }, 0.1).map((each) => tickText(each, 0.1)), [
    "0.1",
    "0.2",
    "0.3",
  ]);
  assert.deepEqual(ticks({ low: 1, high: 2 }, 5), []);
});

test("numbers keep the digits that matter", () => {
  for (const [value, text] of [
    [0, "0"],
    [1234567, "1,234,567"],
    [1234.56, "1,235"],
    [123.456, "123.5"],
    [12.3456, "12.35"],
    [0.0123456, "0.0123"],
    [-0.5, "-0.500"],
  ] as const)
    assert.equal(numberText(value), text);
  assert.equal(tickText(-1e-12, 0.1), "0.0");
});

test("the y axis begins at 0, ends at a step, and is never empty", () => {
  assert.deepEqual(yRange(347, 6), { range: { low: 0, high: 400 }, step: 100 });
  assert.deepEqual(yRange(400, 4).range, { low: 0, high: 400 });
  assert.deepEqual(yRange(0, 2).range, { low: 0, high: 1 });
});

test("a scale maps its ends and back", () => {
  const scale = makeScale({ low: 10, high: 20 }, 100, 50);
  assert.equal(scale.toPx(10), 100);
  assert.equal(scale.toPx(20), 50);
  assert.equal(scale.toValue(75), 15);
});

test("a drag zooms to what it went over, in either direction, inside the whole", () => {
  assert.deepEqual(dragged(30, 10, WHOLE, 3), { low: 10, high: 30 });
  assert.deepEqual(dragged(50, 90, WHOLE, 3), { low: 20, high: 60 });
  assert.deepEqual(dragged(20, 21, WHOLE, 3), { low: 19, high: 22 });
  assert.deepEqual(dragged(0, 0.5, WHOLE, 3), { low: 0, high: 3 });
});

test("zooming keeps its place, ends at the shortest range, and comes back to the whole", () => {
  const half = zoomed(WHOLE, 2, 15, WHOLE, 3);
  assert.deepEqual(half, { low: 7.5, high: 37.5 });
  const shortest = zoomed(half, 1000, 15, WHOLE, 3);
  assert.ok(Math.abs(shortest.high - shortest.low - 3) < 1e-9);
  assert.ok(shortest.low < 15 && shortest.high > 15);
  assert.ok(isWhole(zoomed(half, 0.1, 15, WHOLE, 3), WHOLE));
  assert.deepEqual(zoomed({ low: 0, high: 2 }, 2, 1, { low: 0, high: 2 }, 3), { low: 0, high: 2 });
});

test("a zoomed range follows the point that is read", () => {
  assert.deepEqual(moved({ low: 10, high: 20 }, 15, 0.5, WHOLE), { low: 10, high: 20 });
  assert.deepEqual(moved({ low: 10, high: 20 }, 20, 0.5, WHOLE), { low: 10.5, high: 20.5 });
  assert.deepEqual(moved({ low: 10, high: 20 }, 9, 0.5, WHOLE), { low: 8.5, high: 18.5 });
  assert.deepEqual(within({ low: -5, high: 100 }, WHOLE), WHOLE);
});

function plotOf(kind: XPlot["kind"], values: (number | null)[][]): XPlot {
  return {
    kind,
    title: "t",
    xTitle: "x",
    yTitle: "y",
    x: values[0].map((_, i) => i + 0.5),
    width: 1,
    whole: { low: 0, high: values[0].length },
    series: values.map((each, i) => ({ name: `s${i}`, values: each })),
    xText: String,
    valueText: String,
  };
}

test("the nearest point is found, also at the ends and where there is none", () => {
  const x = [1, 2, 4, 8];
  for (let at = -1; at < 10; at += 0.25) {
    const expected = x.reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));
    assert.equal(x[nearestIndex(x, at)], expected, `at ${at}`);
  }
  assert.equal(nearestIndex([], 3), -1);
  assert.equal(nearestIndex([5], 3), 0);
});

test("stacked series stand on those before them", () => {
  const { series } = plotOf("stack", [
    [1, 2],
    [3, null],
  ]);
  assert.deepEqual(stacked(series), [
    [1, 2],
    [4, 2],
  ]);
  assert.deepEqual(stacked([]), []);
});

test("the y axis fits what is in view", () => {
  const lines = plotOf("lines", [
    [9, 1, 2, null],
    [0, 3, 1, 8],
  ]);
  assert.equal(highest(lines, lines.whole), 9);
  assert.equal(highest(lines, { low: 1, high: 3 }), 3);
  const stack = plotOf("stack", [
    [9, 1],
    [1, 3],
  ]);
  assert.equal(highest(stack, stack.whole), 10);
  const bars = plotOf("bars", [[9, 1, 2]]);
  assert.equal(highest(bars, { low: 0.9, high: 2 }), 9, "a bar that reaches into the view");
  assert.equal(highest(bars, { low: 1, high: 2 }), 1);
});

test("series that stand together have colours of their own", () => {
  const two = plotOf("lines", [[1], [2]]);
  assert.notEqual(colourOf(two, 0), colourOf(two, 1));
  const one = plotOf("bars", [[1]]);
  assert.equal(colourOf(one, 0), "tag-4");
});

test("the plots of a report keep their numbers", () => {
  const lines = toPlot({
    kind: "lines",
    title: "t",
    x_title: "minutes",
    y_title: "y",
    x_unit: "min",
    y_unit: "%",
    bucket: 1,
    series: [
      { name: "a", points: [[0.5, 10], [2.5, 30]] },
      { name: "b", points: [[1.5, 20]] },
    ],
  }) as XPlot;
  assert.deepEqual(lines.x, [0.5, 1.5, 2.5]);
  assert.deepEqual(lines.series.map(({ values }) => values), [
    [10, null, 30],
    [null, 20, null],
  ]);
  assert.deepEqual(lines.whole, { low: 0, high: 3 });
  assert.equal(lines.xText(1.5), "1 to 2 min");
  assert.equal(lines.valueText(12.345), "12.35 %");
  const bars = toPlot({
    kind: "bars",
    title: "t",
    x_title: "seconds",
    y_title: "rides",
    x_unit: "s",
    y_unit: "rides",
    bar_width: 20,
    heights: [3, 0, 4],
  }) as XPlot;
  assert.deepEqual(bars.x, [10, 30, 50]);
  assert.equal(bars.xText(30), "20 to 40 s");
});

test("a report without a ride has plots without points", () => {
  const empty: PlotData = {
    kind: "lines",
    title: "t",
    x_title: "x",
    y_title: "y",
    x_unit: "",
    y_unit: "",
    bucket: 1,
    series: [{ name: "a", points: [] }],
  };
  const plot = toPlot(empty) as XPlot;
  assert.deepEqual(plot.x, []);
  assert.ok(plot.whole.high > plot.whole.low);
  assert.equal(highest(plot, plot.whole), 0);
});

const MAP = {
  kind: "map" as const,
  title: "t",
  note: "n",
  lowX: -1000,
  lowY: 500,
  cell: 100,
  columns: 20,
  rows: 10,
  cells: Array.from({ length: 200 }, (_, i) => i),
  valueText: String,
};

test("a map is read by square, from its lowest corner", () => {
  assert.equal(valueAt({ column: 3, row: 2 }, MAP), 43);
  assert.equal(placeText({ column: 3, row: 2 }, MAP), "-700 to -600 m east, 700 to 800 m north");
  assert.deepEqual(clampedSquare({ column: 3.9, row: 2.1 }, MAP), { column: 3, row: 2 });
  assert.deepEqual(clampedSquare({ column: 20, row: -1 }, MAP), { column: 19, row: 0 });
  assert.deepEqual(inMetres(wholeView(MAP), MAP), {
    x: { low: -1000, high: 1000 },
    y: { low: 500, high: 1500 },
  });
});

test("a zoomed map keeps its shape and stays inside", () => {
  const shapeOf = ({ x, y }: ReturnType<typeof wholeView>) => (x.high - x.low) / (y.high - y.low);
  const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
  const view = draggedView({ column: 2, row: 1 }, { column: 12, row: 3 }, MAP);
  near(shapeOf(view), 2);
  near(view.x.high - view.x.low, 10);
  assert.ok(view.x.low >= 0 && view.y.low >= 0 && view.x.high <= 20 && view.y.high <= 10);
  const at = { column: 5, row: 2 };
  const closest = zoomedView(zoomedView(view, 100, at, MAP), 100, at, MAP);
  near(shapeOf(closest), 2);
  near(closest.x.high - closest.x.low, 4);
  assert.ok(closest.x.low <= 5 && closest.x.high >= 6);
  assert.ok(isWholeView(zoomedView(view, 0.01, at, MAP), MAP));
  assert.ok(!isWholeView(view, MAP));
});
