// SPDX-License-Identifier: Apache-2.0
// The lines, areas and bars of a plot, and the mark at the values that are read.
import type { Box } from "./axes";
import type { Scale } from "./axis";
import { colourOf, heights, type XPlot } from "./series";

const MARK_PX = 3.5;
const BAR_GAP_PX = 1;

interface Shown {
  plot: XPlot;
  x: Scale;
  y: Scale;
}

export function Shapes({ plot, x, y }: Shown) {
  if (plot.kind === "bars") return <Bars plot={plot} x={x} y={y} />;
  const lines = heights(plot);
  const order = lines.map((_, i) => (plot.kind === "stack" ? lines.length - 1 - i : i));
  return (
    <g>
      {order.map((i) => {
        const points = lines[i].flatMap((value, at) =>
          value === null ? [] : [`${x.toPx(plot.x[at]).toFixed(1)} ${y.toPx(value).toFixed(1)}`],
        );
        const line = points.length ? `M${points.join("L")}` : "";
        if (plot.kind === "lines")
          return (
            <path
              key={i}
              class={`line ${colourOf(plot, i)}`}
              d={points.length === 1 ? `${line}h0` : line}
            />
          );
        // An area that is drawn later covers the lower part of the areas before it.
        const ends = [plot.x[0], plot.x[plot.x.length - 1]].map((end) => x.toPx(end).toFixed(1));
        const floor = y.toPx(0);
        const area = points.length ? `${line}L${ends[1]} ${floor}L${ends[0]} ${floor}Z` : "";
        return <path key={i} class={`area ${colourOf(plot, i)}`} d={area} />;
      })}
    </g>
  );
}

function Bars({ plot, x, y }: Shown) {
  return (
    <g>
      {plot.series[0].values.map((value, i) => {
        if (!value) return null;
        const from = x.toPx(plot.x[i] - plot.width / 2);
        const to = x.toPx(plot.x[i] + plot.width / 2);
        return (
          <rect
            key={i}
            class={`bar ${colourOf(plot, 0)}`}
            x={from.toFixed(1)}
            y={y.toPx(value).toFixed(1)}
            width={Math.max(to - from - BAR_GAP_PX, 0.5).toFixed(1)}
            height={(y.toPx(0) - y.toPx(value)).toFixed(1)}
          />
        );
      })}
    </g>
  );
}

/** Marks the values that the read-out shows. */
export function Mark({ plot, index, x, y, box }: Shown & { index: number; box: Box }) {
  const atPx = x.toPx(plot.x[index]);
  return (
    <g class="mark">
      <path d={`M${atPx.toFixed(1)} ${box.top}V${box.bottom}`} />
      {heights(plot).map((values, i) => {
        const value = values[index];
        return value === null || plot.kind === "bars" ? null : (
          <circle key={i} class={colourOf(plot, i)} cx={atPx} cy={y.toPx(value)} r={MARK_PX} />
        );
      })}
    </g>
  );
}
