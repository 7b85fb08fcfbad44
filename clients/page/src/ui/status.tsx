// SPDX-License-Identifier: Apache-2.0
// Whether the server answers, and the tick that is shown. LoginForm has the sentence of a server that
// wants a token.
import type { Model } from "../model/model";
import type { Playback } from "../world/types";
import { countText, dateText } from "./text";

function inViewText(inView: number, shown: number | null): string {
  const all = `${countText(inView)} ${inView === 1 ? "object" : "objects"} in view`;
  return shown === null || shown >= inView ? all : `${countText(shown)} of ${all}`;
}

function wordOf(model: Model, playback: Playback | null): string {
  if (model.pausedAtUs !== null) return "Paused";
  if (!playback) return "Live";
  return playback.paused ? "Held" : "Playing";
}

export function Status({ model, playback }: { model: Model; playback: Playback | null }) {
  const { state, sentence } = model.connection;
  const frame = model.shownFrame();
  if (state !== "live")
    return (
      <p class={`status ${state}`} role="status">
        <span class="lamp" aria-hidden="true" />
        {state === "locked" ? "Not logged in" : sentence}
      </p>
    );
  const shown = frame?.kind === "objects" ? frame.tags.length : null;
  const word = wordOf(model, playback);
  return (
    <p class={`status ${word === "Live" || word === "Playing" ? "live" : "paused"}`}>
      <span class="lamp" aria-hidden="true" />
      <span role="status">{word}</span>
      {!frame && model.hasMap && !model.hidden.has("positions") && " · waiting for positions …"}
      {frame && (
        <span class="wide">
          {" "}
          · tick {countText(frame.tick)} · {dateText(frame.timeUs)}
          {` · ${inViewText(frame.inView, shown)}`}
        </span>
      )}
    </p>
  );
}
