// SPDX-License-Identifier: Apache-2.0
// Redraws a component when the model changes, at most some times a second: text that changes faster
// cannot be read.
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";

const REDRAW_EVERY_MS = 120;

export function useModel(model: Model): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const unsubscribe = model.subscribe(() => {
      timer ??= setTimeout(() => {
        timer = null;
        setCount((count) => count + 1);
      }, REDRAW_EVERY_MS);
    });
    return () => {
      unsubscribe();
      if (timer !== null) clearTimeout(timer);
    };
  }, [model]);
}
