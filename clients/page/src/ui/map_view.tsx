// SPDX-License-Identifier: Apache-2.0
// The map's canvases, and what the pointer does on them.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LiveMap } from "../map/map";
import type { Model } from "../model/model";

interface Props {
  model: Model;
  map: RefObject<LiveMap | null>;
}

const HOVER_AFTER_MS = 80;

/**
 * Returns how much of the map is under panels: at the right, or on a phone at the bottom
 * (panels.css).
 */
function covered(): { right: number; bottom: number } {
  const panels = document.querySelector(".panels")?.getBoundingClientRect();
  const canvas = document.getElementById("map")?.getBoundingClientRect();
  const isShown = document.querySelector(".panels .panel:not([hidden])") !== null;
  if (!panels || !canvas || !isShown) return { right: 0, bottom: 0 };
  if (panels.width < canvas.width / 2) return { right: canvas.right - panels.left, bottom: 0 };
  return { right: 0, bottom: Math.max(0, canvas.bottom - panels.top) };
}

export function MapView({ model, map }: Props) {
  const ground = useRef<HTMLCanvasElement>(null);
  const dots = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    if (!ground.current || !dots.current || !over.current) return;
    map.current = new LiveMap(model, ground.current, dots.current, over.current, covered);
  }, [model, map]);

  const hoverTimer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onMove = (event: MouseEvent) => {
    clearTimeout(hoverTimer.current);
    const id = map.current?.objectAt(event.offsetX, event.offsetY) ?? null;
    if (over.current) over.current.classList.toggle("pointing", id !== null);
    hoverTimer.current = setTimeout(() => void model.hover(id), HOVER_AFTER_MS);
  };
  const onLeave = () => {
    clearTimeout(hoverTimer.current);
    void model.hover(null);
  };
  const onClick = (event: MouseEvent) => {
    if (!map.current || !model.terms || !model.hasMap) return;
    const id = map.current.objectAt(event.offsetX, event.offsetY);
    if (id !== null) return model.selectObject(id);
    const query = map.current.queryAt(event.offsetX, event.offsetY);
    if (query) return model.selectQuery(query);
    const [x, y] = map.current.positionOf(event.offsetX, event.offsetY);
    model.select({ kind: "place", x, y });
  };
  return (
    <div class="map">
      <canvas ref={ground} aria-hidden="true" />
      <canvas ref={dots} aria-hidden="true" />
      <canvas
        ref={over}
        id="map"
        tabIndex={0}
        role="application"
        aria-label={
          "Map of moving objects. Arrow keys move it, plus and minus zoom, " +
          "Enter chooses the object nearest the middle."
        }
        onMouseMove={onMove}
        onMouseLeave={onLeave}
        onClick={onClick}
      />
    </div>
  );
}
