// SPDX-License-Identifier: Apache-2.0
// The stages of the tick, stacked, in milliseconds, over the last minute.
import { useMemo } from "preact/hooks";
import type { ServerNumbers } from "../model/server_numbers";
import type { XPlot } from "../plot/series";
import { XPlotView } from "../plot/x_plot";
import { msText } from "./text";

/** In the order of a tick. The last sums up all stages that are not named. */
const STAGES = ["build", "search", "diff", "publish", "other"];
const HEIGHT_PX = 120;
const SHOWN_S = 60;

function stagesOf(numbers: ServerNumbers): number[] {
  const of = (stage: string) => numbers.stagesMs[stage] ?? 0;
  const named = STAGES.slice(0, -1).map(of);
  const all = Object.entries(numbers.stagesMs).filter(([stage]) => stage !== "total");
  const sum = all.reduce((total, [, ms]) => total + ms, 0);
  return [...named, Math.max(0, sum - named.reduce((total, ms) => total + ms, 0))];
}

const agoText = (s: number) => (s === 0 ? "now" : `${s} s`);

/** Readings are a second apart. */
function stagePlot(history: ServerNumbers[]): XPlot {
  const shown = history.slice(-SHOWN_S - 1);
  const stages = shown.map(stagesOf);
  return {
    kind: "stack",
    title: "Stages of the tick over the last minute",
    xTitle: "",
    yTitle: "",
    x: shown.map((_, i) => i + 1 - shown.length),
    width: 1,
    whole: { low: -SHOWN_S, high: 0 },
    series: STAGES.map((name, stage) => ({ name, values: stages.map((ms) => ms[stage]) })),
    readsLast: true,
    xText: agoText,
    valueText: msText,
    xTickText: agoText,
    yTickText: (ms) => `${Number(ms.toPrecision(6))} ms`,
  };
}

export function StageChart({ history }: { history: ServerNumbers[] }) {
  const plot = useMemo(() => stagePlot(history), [history]);
  return <XPlotView plot={plot} height={HEIGHT_PX} showsTitle={false} />;
}
