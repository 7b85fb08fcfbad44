// SPDX-License-Identifier: Apache-2.0
// Scrubs through the last five minutes, and back to live.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Link } from "../model/link";
import type { Model } from "../model/model";
import { timeText } from "./text";

interface Props {
  model: Model;
  link: Link;
  isRecording: boolean;
}

export function Timeline({ model, link, isRecording }: Props) {
  const { ring, pausedAtUs } = model;
  const first = ring.first?.timeUs ?? 0;
  const last = Math.max(first, ring.last?.timeUs ?? 0);
  const shown = model.shownFrame()?.timeUs ?? last;
  const isEmpty = ring.count < 2;
  const isMissed = useLinkTime(model, link);
  return (
    <div class="timeline" role="group" aria-label="Time">
      <button
        type="button"
        disabled={isEmpty}
        onClick={() => model.pause(pausedAtUs === null ? shown : null)}
      >
        {pausedAtUs === null ? "Pause" : isRecording ? "Latest" : "Live"}
      </button>
      <input
        type="range"
        aria-label="Moment that is shown"
        aria-valuetext={isEmpty ? "nothing yet" : timeText(shown)}
        min={0}
        max={Math.max(1, Math.round((last - first) / 1000))}
        value={Math.round((shown - first) / 1000)}
        step={1}
        disabled={isEmpty}
        onInput={(event) => model.pause(first + Number(event.currentTarget.value) * 1000)}
      />
      <output>
        {isEmpty ? "–" : pausedAtUs === null ? timeText(shown) : agoText(last - shown, shown)}
      </output>
      {isMissed && <p class="hint">This page does not hold the link's moment; it shows now.</p>}
    </div>
  );
}

function agoText(agoUs: number, timeUs: number): string {
  return `${timeText(timeUs)} (−${(agoUs / 1e6).toFixed(1)} s)`;
}

/**
 * Goes to the time of a link if the ring has it. Returns true while the page is live because the
 * ring lacks it.
 */
function useLinkTime(model: Model, link: Link): boolean {
  const [isMissed, setIsMissed] = useState(false);
  const followed = useRef<Link | null>(null);
  const isFilled = model.ring.first !== null;
  useEffect(() => {
    if (followed.current === link || !isFilled) return;
    followed.current = link;
    const isHeld = link.timeUs !== null && model.ring.spans(link.timeUs);
    model.pause(isHeld ? link.timeUs : null);
    setIsMissed(link.timeUs !== null && !isHeld);
  }, [isFilled, link, model]);
  return isMissed && model.pausedAtUs === null;
}
