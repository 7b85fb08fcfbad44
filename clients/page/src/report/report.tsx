// SPDX-License-Identifier: Apache-2.0
// The script inside report.html and compare.html, which `starling simulate` writes. It replaces the
// drawings, which are for browsers without scripts, by plots, and adds the switch between light and
// dark.
import { render } from "preact";
import { MapPlotView } from "../plot/map_plot";
import { XPlotView } from "../plot/x_plot";
import { toPlot, type PlotData } from "./report_data";
import { ThemeSwitch } from "./theme_switch";
import "./report.css";

const HEIGHT_PX = 240;

function Plots({ data }: { data: PlotData[] }) {
  return (
    <>
      {data.map(toPlot).map((plot) =>
        plot.kind === "map" ? (
          <MapPlotView key={plot.title} plot={plot} />
        ) : (
          <XPlotView key={plot.title} plot={plot} height={HEIGHT_PX} />
        ),
      )}
    </>
  );
}

for (const holder of document.querySelectorAll(".plots")) {
  const text = holder.querySelector("script[type='application/json']")?.textContent;
  if (!text) continue;
  const data = JSON.parse(text) as PlotData[];
  holder.replaceChildren();
  render(<Plots data={data} />, holder);
}
const header = document.querySelector("header");
const place = header?.appendChild(document.createElement("div"));
if (place) render(<ThemeSwitch />, place);
document.getElementById("how")?.removeAttribute("hidden");
