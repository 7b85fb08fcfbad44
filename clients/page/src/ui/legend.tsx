// SPDX-License-Identifier: Apache-2.0
// The colours of the tag bits that the shown objects have, or the scale of a raster.
import { useEffect, useState } from "preact/hooks";
import { tagColour } from "../map/splat";
import type { Model } from "../model/model";
import type { ObjectFrame } from "../world/types";
import { countText } from "./text";

const COLOURS = 9;
const COUNT_EVERY_MS = 1000;

/** Returns for each colour how many objects have it and the tag bits that stand for it. */
function countsOf(frame: ObjectFrame): number[] {
  const counts = new Array<number>(COLOURS).fill(0);
  for (const tags of frame.tags) ++counts[tagColour(tags, COLOURS)];
  return counts;
}

export function Legend({ model }: { model: Model }) {
  const [counts, setCounts] = useState<number[]>([]);
  const frame = model.shownFrame();
  useEffect(() => {
    const read = () => {
      const now = model.shownFrame();
      setCounts(now?.kind === "objects" ? countsOf(now) : []);
    };
    const timer = setInterval(read, COUNT_EVERY_MS);
    return () => clearInterval(timer);
  }, [model]);
  if (frame?.kind === "raster")
    return (
      <p class="legend">
        <span class="scale" aria-hidden="true" /> few to many objects; zoom in to see each
      </p>
    );
  const present = counts.map((count, colour) => ({ count, colour })).filter((row) => row.count > 0);
  if (present.length < 2) return null;
  return (
    <ul class="legend" aria-label="Colours by tag">
      {present.map(({ count, colour }) => (
        <li key={colour}>
          <span class={`dot tag-${colour}`} aria-hidden="true" />
          {colour === 0 ? "no tag" : `tag bit ${colour - 1}`} {countText(count)}
        </li>
      ))}
    </ul>
  );
}
