// SPDX-License-Identifier: Apache-2.0
// The colours of the tag bits that the shown objects have, or the scale of a raster.
import { useEffect, useState } from "preact/hooks";
import { tagRows, type TagRow } from "../map/splat";
import { TAG_COLOURS } from "../map/theme";
import type { Model } from "../model/model";
import { countText } from "./text";

const COUNT_EVERY_MS = 1000;

function nameOf({ bits }: TagRow): string {
  if (bits.length === 0) return "no tag";
  return `tag bit${bits.length > 1 ? "s" : ""} ${bits.join(", ")}`;
}

export function Legend({ model }: { model: Model }) {
  const [rows, setRows] = useState<TagRow[]>([]);
  const frame = model.shownFrame();
  useEffect(() => {
    const read = () => {
      const now = model.shownFrame();
      setRows(now?.kind === "objects" ? tagRows(now.tags, TAG_COLOURS) : []);
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
  if (rows.length < 2) return null;
  return (
    <ul class="legend" aria-label="Colours by tag">
      {rows.map((row) => (
        <li key={row.colour}>
          <span class={`dot tag-${row.colour}`} aria-hidden="true" />
          {nameOf(row)} {countText(row.count)}
        </li>
      ))}
    </ul>
  );
}
