// SPDX-License-Identifier: Apache-2.0
// Plays, pauses and moves the recording of a server that plays one, such as `starling view`. With
// other servers the panel is not shown.
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";
import { Forbidden, type Playback, type PlaybackChange } from "../world/types";
import { dateText } from "./text";

const READ_EVERY_MS = 1000;
const SPEEDS = [0.25, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];

export interface Recording {
  playback: Playback | null;
  change: (change: PlaybackChange) => void;
  /** The server's sentence, if the user may not change the playback. */
  refusal: string | null;
}

/** Reads the playback each second, until the server says that it plays no recording. */
export function useRecording(model: Model): Recording {
  const [playback, setPlayback] = useState<Playback | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  useEffect(() => {
    const read = async () => {
      const now = await model.world.playback().catch(() => undefined);
      if (now === null) clearInterval(timer);
      if (now !== undefined) setPlayback(now);
    };
    const timer = setInterval(() => void read(), READ_EVERY_MS);
    void read();
    return () => clearInterval(timer);
  }, [model]);
  const change = (wanted: PlaybackChange) => {
    model.world.changePlayback(wanted).then(
      (now) => {
        setPlayback(now);
        setRefusal(null);
      },
      // A server whose recording is moved back ends, perhaps before it has answered.
      (error: unknown) => error instanceof Forbidden && setRefusal(error.message),
    );
  };
  return { playback, change, refusal };
}

export function RecordingPanel({ model, recording }: { model: Model; recording: Recording }) {
  const { playback, change, refusal } = recording;
  /** The moment under the slider's thumb while it is dragged. */
  const [draggedUs, setDraggedUs] = useState<number | null>(null);
  if (!playback) return null;
  const { beginUs, endUs, speed, paused } = playback;
  const frame = model.shownFrame();
  const isPaused = model.pausedAtUs !== null;
  const playedUs = isPaused || !frame ? playback.timeUs : frame.timeUs;
  const timeUs = draggedUs ?? playedUs;
  const timeOf = (input: HTMLInputElement) => beginUs + Number(input.value) * 1e6;
  const speeds = SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((a, b) => a - b);
  return (
    <section class="panel recording" aria-label="Recording">
      <h2>Recording</h2>
      <input
        type="range"
        aria-label="Moment of the recording"
        aria-valuetext={dateText(timeUs)}
        min={0}
        max={Math.max(1, Math.round((endUs - beginUs) / 1e6))}
        value={Math.round((timeUs - beginUs) / 1e6)}
        onInput={(event) => setDraggedUs(timeOf(event.currentTarget))}
        onChange={(event) => {
          setDraggedUs(null);
          change({ timeUs: timeOf(event.currentTarget) });
        }}
      />
      <div class="controls">
        <button type="button" onClick={() => change({ paused: !paused })}>
          {paused ? "Play" : "Hold"}
        </button>
        <label>
          Speed{" "}
          <select
            value={String(speed)}
            onChange={(event) => change({ speed: Number(event.currentTarget.value) })}
          >
            {speeds.map((each) => (
              <option key={each} value={String(each)}>
                {each} ×
              </option>
            ))}
          </select>
        </label>
        <output>{dateText(timeUs)}</output>
      </div>
      {isPaused && frame && (
        <p class="hint">The map is paused at an earlier moment, {dateText(frame.timeUs)}.</p>
      )}
      {refusal && (
        <p class="error" role="alert">
          {refusal}
        </p>
      )}
    </section>
  );
}
