// SPDX-License-Identifier: Apache-2.0
// A plot over one axis: lines, stacked areas or bars. The panel of the live page and the report of
// a simulation use it. A drag zooms, a double-click shows all, and the pointer or the arrow keys
// read values.
import { Axes, innerSize, makeBox, scalesOf } from "./axes";
import { tickText, ticks, yRange } from "./axis";
import { Frame } from "./frame";
import { ReadOut, tableOf } from "./read_out";
import { highest, type XPlot } from "./series";
import { Mark, Shapes } from "./shapes";
import { useZoom, type Zoom } from "./use_zoom";

const PX_PER_Y_TICK = 36;

interface Props {
  plot: XPlot;
  height: number;
  /** False on the live page, which has its own headings. */
  showsTitle?: boolean;
}

export function XPlotView({ plot, height, showsTitle = true }: Props) {
  const zoom = useZoom(plot);
  const { index, spoken, isZoomed, reset, leave, onKeyDown } = zoom;
  return (
    <Frame
      title={plot.title}
      showsTitle={showsTitle}
      isLong={plot.series.length > 1}
      readOut={<ReadOut plot={plot} index={index} />}
      spoken={spoken}
      isZoomed={isZoomed}
      onReset={reset}
      table={() => tableOf(plot)}
      acts={{ onKeyDown, onDblClick: reset, onBlur: leave }}
    >
      {(width) => <Drawing plot={plot} zoom={zoom} width={width} height={height} />}
    </Frame>
  );
}

interface DrawingProps {
  plot: XPlot;
  zoom: Zoom;
  width: number;
  height: number;
}

function Drawing({ plot, zoom, width, height }: DrawingProps) {
  const { view, index, drag } = zoom;
  const y = yRange(highest(plot, view), Math.max(2, Math.floor(height / PX_PER_Y_TICK)));
  const yTickText = plot.yTickText ?? tickText;
  const labels = ticks(y.range, y.step).map((value) => yTickText(value, y.step));
  const box = makeBox(width, height, labels, plot.xTitle !== "");
  const scales = scalesOf(box, view, y.range);
  return (
    <svg
      width={width}
      height={height}
      aria-hidden="true"
      {...zoom.pointer(scales.x, box.left, box.right)}
    >
      <Axes
        box={box}
        x={view}
        y={y.range}
        yStep={y.step}
        xTitle={plot.xTitle}
        xTickText={plot.xTickText}
        yTickText={plot.yTickText}
      />
      {/* A nested svg cuts off what is outside the view. */}
      <svg {...innerSize(box)}>
        <Shapes plot={plot} {...scales} />
        {index >= 0 && <Mark plot={plot} index={index} box={box} {...scales} />}
        {drag && (
          <rect
            class="drag"
            x={Math.min(drag.fromPx, drag.toPx)}
            y={box.top}
            width={Math.abs(drag.toPx - drag.fromPx)}
            height={box.bottom - box.top}
          />
        )}
      </svg>
    </svg>
  );
}
