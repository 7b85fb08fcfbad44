// SPDX-License-Identifier: Apache-2.0
// Whether the server answers, and the tick that is shown. LoginForm has the sentence of a server that
// wants a token.
import type { Model } from "../model/model";
import { countText, dateText } from "./text";

function hereText(inView: number, shown: number | null): string {
  const all = `${countText(inView)} here`;
  return shown === null || shown >= inView ? all : `${countText(shown)} of ${all}`;
}

export function Status({ model }: { model: Model }) {
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
  return (
    <p class={`status ${model.pausedAtUs === null ? "live" : "paused"}`}>
      <span class="lamp" aria-hidden="true" />
      <span role="status">{model.pausedAtUs === null ? "Live" : "Paused"}</span>
      {!frame && model.hasMap && !model.hidden.has("positions") && " · waiting for positions …"}
      {frame && (
        <span class="wide">
          {" "}
          · tick {countText(frame.tick)} · {dateText(frame.timeUs)}
          {` · ${hereText(frame.inView, shown)}`}
        </span>
      )}
    </p>
  );
}
