// SPDX-License-Identifier: Apache-2.0
// The stages of the tick, stacked, in milliseconds, over the last minutes.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { ServerNumbers } from "../model/server_numbers";
import { msText } from "./text";

/** In the order of a tick; the last holds the stages that are not named. */
const STAGES = ["build", "search", "diff", "publish", "other"];
const HEIGHT_PX = 110;

function stagesOf(numbers: ServerNumbers): number[] {
  const of = (stage: string) => numbers.stagesMs[stage] ?? 0;
  const named = STAGES.slice(0, -1).map(of);
  const all = Object.entries(numbers.stagesMs).filter(([stage]) => stage !== "total");
  const sum = all.reduce((total, [, ms]) => total + ms, 0);
  return [...named, Math.max(0, sum - named.reduce((total, ms) => total + ms, 0))];
}

/** Returns uPlot's columns: seconds before now, then each stage on top of those before it. */
function stacked(history: ServerNumbers[]): uPlot.AlignedData {
  const columns: number[][] = [history.map((_, i) => i + 1 - history.length)];
  const below = history.map(() => 0);
  const stages = history.map(stagesOf);
  STAGES.forEach((_, stage) => {
    columns.push(history.map((_, i) => (below[i] += stages[i][stage])));
  });
  return columns as uPlot.AlignedData;
}

function makeChart(parent: HTMLElement, width: number): uPlot {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: of("grid-text"),
    grid: { stroke: of("grid"), width: 1 },
    font: "11px system-ui, sans-serif",
  };
  return new uPlot(
    {
      width,
      height: HEIGHT_PX,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-60, 0] }, y: { range: (_, __, max) => [0, max || 1] } },
      axes: [
        { ...axis, size: 24, values: (_, ticks) => ticks.map((s) => (s === 0 ? "now" : `${s} s`)) },
        { ...axis, size: 66, values: (_, ticks) => ticks.map((ms) => `${ms} ms`) },
      ],
      series: [
        {},
        ...STAGES.map((stage, i) => ({
          label: stage,
          stroke: of(`tag-${i + 1}`),
          fill: `${of(`tag-${i + 1}`)}99`,
          width: 1,
          points: { show: false },
        })),
      ],
      bands: STAGES.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] })),
    },
    stacked([]),
    parent,
  );
}

export function StageChart({ history }: { history: ServerNumbers[] }) {
  const parent = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = parent.current;
    if (!element) return;
    const make = () => {
      chart.current?.destroy();
      chart.current = makeChart(element, element.clientWidth);
    };
    make();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", make);
    return () => {
      scheme.removeEventListener("change", make);
      chart.current?.destroy();
      chart.current = null;
    };
  }, []);
  useEffect(() => chart.current?.setData(stacked(history)), [history]);
  const now = history.at(-1);
  const stages = now ? stagesOf(now) : [];
  return (
    <figure>
      <div ref={parent} role="img" aria-label="Stages of the tick over the last minute" />
      <figcaption>
        {STAGES.map((stage, i) => (
          <span key={stage}>
            <span class={`dot tag-${i + 1}`} aria-hidden="true" />
            {stage} {now ? msText(stages[i]) : ""}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
