// SPDX-License-Identifier: Apache-2.0
// A map of squares that are more opaque the more they count, for the unmet demand of a simulation.
// A drag zooms, a double-click shows all, and the pointer or the arrow keys read squares.
import { useState } from "preact/hooks";
import { Axes, innerSize, makeBox, scalesOf, type Box } from "./axes";
import { niceStep, tickText, ticks } from "./axis";
import { Frame, type Table } from "./frame";
import { lengthOf, moved, ZOOM_FACTOR } from "./range";
import {
  clampedSquare,
  draggedView,
  inMetres,
  isWholeView,
  middleOf,
  placeText,
  valueAt,
  wholeView,
  zoomedView,
  type MapPlot,
  type MapView,
  type Square,
} from "./squares";
import { actOnKey } from "./use_zoom";

const HEIGHT_PX_MAX = 460;
const DRAG_PX_MIN = 6;
const PX_PER_Y_TICK = 60;
const FAINTEST = 0.18;

export function MapPlotView({ plot }: { plot: MapPlot }) {
  const [zoom, setZoom] = useState<MapView | null>(null);
  const [cursor, setCursor] = useState<Square | null>(null);
  const [spoken, setSpoken] = useState("");
  const view = zoom ?? wholeView(plot);
  const show = (next: MapView) => setZoom(isWholeView(next, plot) ? null : next);
  const reset = () => setZoom(null);
  const leave = () => setCursor(null);

  const readBy = (columns: number, rows: number) => {
    const from = cursor ?? middleOf(view);
    const to = cursor
      ? clampedSquare({ column: from.column + columns, row: from.row + rows }, plot)
      : from;
    setCursor(to);
    setSpoken(`${placeText(to, plot)}: ${plot.valueText(valueAt(to, plot))}`);
    if (!zoom) return;
    const whole = wholeView(plot);
    show({
      x: moved(zoom.x, to.column + 0.5, 0.5, whole.x),
      y: moved(zoom.y, to.row + 0.5, 0.5, whole.y),
    });
  };
  const zoomBy = (factor: number) => show(zoomedView(view, factor, cursor ?? middleOf(view), plot));
  const onKeyDown = (event: KeyboardEvent) => {
    const escape = () => {
      reset();
      leave();
    };
    actOnKey(event, {
      ArrowLeft: () => readBy(-1, 0),
      ArrowRight: () => readBy(1, 0),
      ArrowUp: () => readBy(0, 1),
      ArrowDown: () => readBy(0, -1),
      "+": () => zoomBy(ZOOM_FACTOR),
      "=": () => zoomBy(ZOOM_FACTOR),
      "-": () => zoomBy(1 / ZOOM_FACTOR),
      "0": reset,
      ...(zoom || cursor ? { Escape: escape } : {}),
    });
  };
  return (
    <Frame
      title={plot.title}
      showsTitle={true}
      isLong={true}
      readOut={<ReadOut plot={plot} at={cursor} />}
      spoken={spoken}
      isZoomed={zoom !== null}
      onReset={reset}
      table={() => tableOf(plot)}
      acts={{ onKeyDown, onDblClick: reset, onBlur: leave }}
    >
      {(width) => (
        <Drawing
          plot={plot}
          view={view}
          width={width}
          cursor={cursor}
          onRead={setCursor}
          onDragged={(from, to) => show(draggedView(from, to, plot))}
        />
      )}
    </Frame>
  );
}

function ReadOut({ plot, at }: { plot: MapPlot; at: Square | null }) {
  if (!at) return <span>{plot.note}</span>;
  return (
    <>
      <span class="read-at">{placeText(at, plot)}</span>
      <b>{plot.valueText(valueAt(at, plot))}</b>
    </>
  );
}

function tableOf(plot: MapPlot): Table {
  const rows: string[][] = [];
  plot.cells.forEach((value, i) => {
    const square = { column: i % plot.columns, row: Math.floor(i / plot.columns) };
    if (value > 0) rows.push([placeText(square, plot), plot.valueText(value)]);
  });
  return { head: ["square", "unmet requests"], rows };
}

/** Keeps the shape of the map: returns the largest box that fits in `width` and HEIGHT_PX_MAX. */
function fitBox(plot: MapPlot, width: number, yLabels: string[]): { box: Box; height: number } {
  const space = makeBox(width, 0, yLabels, true);
  const around = space.top - space.bottom;
  const squarePx = Math.min(
    (space.right - space.left) / plot.columns,
    (HEIGHT_PX_MAX - around) / plot.rows,
  );
  const height = squarePx * plot.rows + around;
  const right = space.left + squarePx * plot.columns;
  return { box: { ...space, right, bottom: height + space.bottom }, height };
}

interface DrawingProps {
  plot: MapPlot;
  view: MapView;
  width: number;
  cursor: Square | null;
  onRead: (square: Square | null) => void;
  onDragged: (from: Square, to: Square) => void;
}

function Drawing({ plot, view, width, cursor, onRead, onDragged }: DrawingProps) {
  const [drag, setDrag] = useState<{ from: Square; to: Square } | null>(null);
  const metres = inMetres(view, plot);
  const tickCount = Math.floor(Math.min(width, HEIGHT_PX_MAX) / PX_PER_Y_TICK);
  const step = niceStep(lengthOf(metres.y), Math.max(2, tickCount));
  const labels = ticks(metres.y, step).map((value) => tickText(value, step));
  const { box, height } = fitBox(plot, width, labels);
  const { x, y } = scalesOf(box, view.x, view.y);
  const sidePx = x.toPx(1) - x.toPx(0);

  const placeOf = (event: PointerEvent): Square => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const inside = (px: number, low: number, high: number) => Math.min(Math.max(px, low), high);
    return {
      column: x.toValue(inside(event.clientX - left, box.left, box.right)),
      row: y.toValue(inside(event.clientY - top, box.top, box.bottom)),
    };
  };
  const read = (event: PointerEvent) => onRead(clampedSquare(placeOf(event), plot));
  const acts = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setDrag({ from: placeOf(event), to: placeOf(event) });
      read(event);
    },
    onPointerMove: (event: PointerEvent) => {
      if (drag) setDrag({ ...drag, to: placeOf(event) });
      read(event);
    },
    onPointerUp: (event: PointerEvent) => {
      if (!drag) return;
      const [from, to] = [drag.from, placeOf(event)];
      setDrag(null);
      const length = Math.max(Math.abs(to.column - from.column), Math.abs(to.row - from.row));
      if (length * sidePx >= DRAG_PX_MIN) onDragged(from, to);
    },
    onPointerCancel: () => setDrag(null),
    onPointerLeave: (event: PointerEvent) => event.pointerType === "mouse" && onRead(null),
  };
  const rectOf = ({ column, row }: Square) => ({
    x: x.toPx(column).toFixed(1),
    y: y.toPx(row + 1).toFixed(1),
    width: sidePx.toFixed(2),
    height: sidePx.toFixed(2),
  });
  const inner = innerSize(box);
  return (
    <svg width={width} height={height} aria-hidden="true" {...acts}>
      <Axes box={box} {...metres} yStep={step} xTitle="metres east; up is north" />
      <rect class="frame" x={inner.x} y={inner.y} width={inner.width} height={inner.height} />
      <svg {...inner}>
        <Squares plot={plot} rectOf={rectOf} />
        {cursor && <rect class="square" {...rectOf(cursor)} />}
        {drag && (
          <rect
            class="drag"
            x={x.toPx(Math.min(drag.from.column, drag.to.column))}
            y={y.toPx(Math.max(drag.from.row, drag.to.row))}
            width={Math.abs(drag.to.column - drag.from.column) * sidePx}
            height={Math.abs(drag.to.row - drag.from.row) * sidePx}
          />
        )}
      </svg>
    </svg>
  );
}

type RectOf = (square: Square) => { x: string; y: string; width: string; height: string };

function Squares({ plot, rectOf }: { plot: MapPlot; rectOf: RectOf }) {
  const most = Math.max(1e-9, ...plot.cells);
  return (
    <g>
      {plot.cells.map((value, i) => {
        if (value <= 0) return null;
        const square = { column: i % plot.columns, row: Math.floor(i / plot.columns) };
        const opacity = FAINTEST + (1 - FAINTEST) * Math.sqrt(value / most);
        return <rect key={i} class="unmet" {...rectOf(square)} fill-opacity={opacity} />;
      })}
    </g>
  );
}
