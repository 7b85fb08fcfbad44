// SPDX-License-Identifier: Apache-2.0
// The keyboard. Keys act on the page unless a field has the focus.
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { LiveMap } from "../map/map";
import type { Model } from "../model/model";

const PAN_PX = 80;
const ZOOM_FACTOR = 1.5;
const MIDDLE_REACH_PX = 60;

export function useKeys(model: Model, map: RefObject<LiveMap | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      if (event.key === "Escape") {
        target.blur();
        return model.select(null);
      }
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter")) return;
      const act = actions(model, map.current)[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [model, map]);
}

function actions(model: Model, map: LiveMap | null): Record<string, () => void> {
  return {
    ArrowLeft: () => map?.panBy(PAN_PX, 0),
    ArrowRight: () => map?.panBy(-PAN_PX, 0),
    ArrowUp: () => map?.panBy(0, PAN_PX),
    ArrowDown: () => map?.panBy(0, -PAN_PX),
    "+": () => map?.zoomBy(ZOOM_FACTOR),
    "=": () => map?.zoomBy(ZOOM_FACTOR),
    "-": () => map?.zoomBy(1 / ZOOM_FACTOR),
    f: () => map?.fit(),
    Enter: () => selectMiddle(model, map),
    "/": () => document.getElementById("search")?.focus(),
    " ": () => model.pause(model.pausedAtUs === null ? (model.shownFrame()?.timeUs ?? null) : null),
    "[": () => model.stepBy(-1),
    "]": () => model.stepBy(1),
    l: () => model.pause(null),
    k: () => model.setK(model.k + 1),
    j: () => model.setK(model.k - 1),
  };
}

function selectMiddle(model: Model, map: LiveMap | null): void {
  if (!map || !model.terms || !model.hasMap) return;
  const middle = map.middle();
  const id = map.objectAt(...middle, MIDDLE_REACH_PX);
  if (id !== null) return model.selectObject(id);
  const [x, y] = map.positionOf(...middle);
  model.select({ kind: "place", x, y });
}
