// SPDX-License-Identifier: Apache-2.0
// Writes the values of a plot: one point as a line above the plot and as a sentence, all points as
// a table.
import type { Table } from "./frame";
import { colourOf, type XPlot } from "./series";

/** Shows the values of a point, or the legend while no point is read. */
export function ReadOut({ plot, index }: { plot: XPlot; index: number }) {
  const isNamed = plot.series.length > 1;
  const read = index < 0 && plot.readsLast ? plot.x.length - 1 : index;
  return (
    <>
      {read >= 0 && <span class="read-at">{plot.xText(plot.x[read])}</span>}
      {!isNamed && read < 0 && <span>{plot.yTitle}</span>}
      {plot.series.map(({ name, values }, i) => {
        const value = read >= 0 ? values[read] : null;
        const text = value === null ? "" : plot.valueText(value);
        if (!isNamed && text === "") return null;
        return (
          <span key={name}>
            <span class={`dot ${colourOf(plot, i)}`} aria-hidden="true" />
            {isNamed ? `${name} ` : ""}
            <b>{text}</b>
          </span>
        );
      })}
      {isNamed && read < 0 && plot.yTitle && <span>{plot.yTitle}</span>}
    </>
  );
}

export function pointText(plot: XPlot, index: number): string {
  const values = plot.series.map(({ name, values }) => {
    const value = values[index];
    return `${name} ${value === null ? "nothing" : plot.valueText(value)}`;
  });
  return `${plot.xText(plot.x[index])}: ${values.join(", ")}`;
}

export function tableOf(plot: XPlot): Table {
  return {
    head: [plot.xTitle || "x", ...plot.series.map(({ name }) => name)],
    rows: plot.x.map((x, i) => [
      plot.xText(x),
      ...plot.series.map(({ values }) => {
        const value = values[i];
        return value === null ? "" : plot.valueText(value);
      }),
    ]),
  };
}
