// SPDX-License-Identifier: Apache-2.0
// Redraws a component when the model changes, at most every REDRAW_EVERY_MS: text that changes
// faster cannot be read. A list is redrawn at once, together with the map.
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";

const REDRAW_EVERY_MS = 120;

export function useModel(model: Model): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let drawn: object | null = null;
    const redraw = () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      drawn = model.shownMoment;
      setCount((count) => count + 1);
    };
    const unsubscribe = model.subscribe(() => {
      if (model.shownMoment !== drawn) redraw();
      else timer ??= setTimeout(redraw, REDRAW_EVERY_MS);
    });
    return () => {
      unsubscribe();
      if (timer !== null) clearTimeout(timer);
    };
  }, [model]);
}
