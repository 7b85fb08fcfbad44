// SPDX-License-Identifier: Apache-2.0
// The view of a plot over one axis, and the point that is read. Keys and the pointer change both.
import { useState } from "preact/hooks";
import type { Scale } from "./axis";
import { dragged, isWhole, moved, ZOOM_FACTOR, zoomed, type Range } from "./range";
import { pointText } from "./read_out";
import { nearestIndex, type XPlot } from "./series";

const DRAG_PX_MIN = 6;
const POINTS_MIN = 3;

export interface Drag {
  fromPx: number;
  toPx: number;
}

export interface Zoom {
  view: Range;
  isZoomed: boolean;
  /** The point that is read, or -1. */
  index: number;
  drag: Drag | null;
  /** What a screen reader says after a key. */
  spoken: string;
  reset: () => void;
  leave: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
  /** Returns the pointer handlers of a drawing with this scale. */
  pointer: (x: Scale, lowPx: number, highPx: number) => PointerActs;
}

interface PointerActs {
  onPointerDown: (event: PointerEvent) => void;
  onPointerMove: (event: PointerEvent) => void;
  onPointerUp: (event: PointerEvent) => void;
  onPointerCancel: () => void;
  onPointerLeave: (event: PointerEvent) => void;
}

/**
 * Calls the act of the key, if it has one, and stops the event, so that no other part of the page
 * gets it.
 */
export function actOnKey(event: KeyboardEvent, acts: Record<string, () => void>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation(); // the live page's map has the same keys
  act();
}

export function useZoom(plot: XPlot): Zoom {
  const [zoom, setZoom] = useState<Range | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const [spoken, setSpoken] = useState("");
  const view = zoom ?? plot.whole;
  const lengthMin = POINTS_MIN * plot.width;
  const index = cursor === null ? -1 : nearestIndex(plot.x, cursor);
  const last = plot.x.length - 1;

  const show = (range: Range) => setZoom(isWhole(range, plot.whole) ? null : range);
  const reset = () => setZoom(null);
  const leave = () => setCursor(null);

  const readAt = (to: number) => {
    const at = Math.min(Math.max(to, 0), last);
    if (last < 0) return;
    setCursor(plot.x[at]);
    setSpoken(pointText(plot, at));
    if (zoom) show(moved(zoom, plot.x[at], plot.width / 2, plot.whole));
  };
  const zoomBy = (factor: number) => {
    const at = index >= 0 ? plot.x[index] : (view.low + view.high) / 2;
    show(zoomed(view, factor, at, plot.whole, lengthMin));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const ends = [nearestIndex(plot.x, view.low), nearestIndex(plot.x, view.high)];
    const escape = () => {
      reset();
      leave();
    };
    actOnKey(event, {
      ArrowLeft: () => readAt(index < 0 ? ends[1] : index - 1),
      ArrowRight: () => readAt(index < 0 ? ends[0] : index + 1),
      Home: () => readAt(0),
      End: () => readAt(last),
      "+": () => zoomBy(ZOOM_FACTOR),
      "=": () => zoomBy(ZOOM_FACTOR),
      "-": () => zoomBy(1 / ZOOM_FACTOR),
      "0": reset,
      ...(zoom || cursor !== null ? { Escape: escape } : {}),
    });
  };

  const pointer = (x: Scale, lowPx: number, highPx: number): PointerActs => {
    const pxOf = (event: PointerEvent) => {
      const px = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
      return Math.min(Math.max(px, lowPx), highPx);
    };
    return {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
        setDrag({ fromPx: pxOf(event), toPx: pxOf(event) });
        setCursor(x.toValue(pxOf(event)));
      },
      onPointerMove: (event) => {
        if (drag) setDrag({ ...drag, toPx: pxOf(event) });
        setCursor(x.toValue(pxOf(event)));
      },
      onPointerUp: (event) => {
        if (!drag) return;
        const [from, to] = [drag.fromPx, pxOf(event)];
        setDrag(null);
        if (Math.abs(to - from) >= DRAG_PX_MIN)
          show(dragged(x.toValue(from), x.toValue(to), plot.whole, lengthMin));
      },
      onPointerCancel: () => setDrag(null),
      // A finger also leaves when it is lifted. The point that it read stays readable.
      onPointerLeave: (event) => event.pointerType === "mouse" && leave(),
    };
  };
  return { view, isZoomed: zoom !== null, index, drag, spoken, reset, leave, onKeyDown, pointer };
}
