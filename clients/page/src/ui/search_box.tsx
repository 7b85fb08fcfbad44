// SPDX-License-Identifier: Apache-2.0
// Finds an object by its id or its whole name, on the server. Suggests objects that the map has
// shown.
import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import type { LiveMap } from "../map/map";
import type { Model } from "../model/model";

const SUGGESTIONS_MAX = 8;

export function SearchBox({ model, map }: { model: Model; map: RefObject<LiveMap | null> }) {
  const [text, setText] = useState("");
  const [sentence, setSentence] = useState("");
  const suggestions = text ? model.world.objects.suggestions(text, SUGGESTIONS_MAX) : [];

  const search = async (event: Event) => {
    event.preventDefault();
    if (!text.trim()) return;
    try {
      const found = await model.world.object(text.trim());
      setSentence(found ? "" : `There is no object ${text.trim()}.`);
      if (!found) return;
      model.select({ kind: "object", id: found.id });
      if (Number.isFinite(found.x)) map.current?.centreOn(found.x, found.y);
      document.getElementById("map")?.focus();
    } catch (error) {
      setSentence((error as Error).message);
    }
  };
  return (
    <form role="search" onSubmit={search}>
      <input
        id="search"
        type="search"
        list="suggestions"
        autocomplete="off"
        placeholder="Name or id"
        aria-label="Search an object by name or id"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="suggestions">
        {suggestions.map((label) => (
          <option key={label} value={label} />
        ))}
      </datalist>
      {sentence && (
        <p class="error" role="alert">
          {sentence}
        </p>
      )}
    </form>
  );
}
