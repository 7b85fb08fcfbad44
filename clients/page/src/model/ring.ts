// SPDX-License-Identifier: Apache-2.0
// The frames of the last minutes, for scrubbing back. Limited in time and in bytes: if not all
// frames of five minutes fit, the ring keeps fewer, evenly spaced.
import type { Frame } from "../world/types";

export const RING_MS = 5 * 60 * 1000;
export const RING_BYTES_MAX = 192 * 1024 * 1024;
const FRAME_HEAD_BYTES = 200;

interface Entry {
  frame: Frame;
  receivedMs: number;
  bytes: number;
}

export function bytesOf(frame: Frame): number {
  if (frame.kind === "raster") return FRAME_HEAD_BYTES + frame.counts.byteLength;
  const { objects, xy, tags } = frame;
  return FRAME_HEAD_BYTES + objects.byteLength + xy.byteLength + tags.byteLength;
}

export class Ring {
  private entries: Entry[] = [];
  private bytesHeld = 0;

  constructor(
    private readonly spanMs = RING_MS,
    private readonly bytesMax = RING_BYTES_MAX,
  ) {}

  get count(): number {
    return this.entries.length;
  }

  get bytes(): number {
    return this.bytesHeld;
  }

  get first(): Frame | null {
    return this.entries[0]?.frame ?? null;
  }

  get last(): Frame | null {
    return this.entries.at(-1)?.frame ?? null;
  }

  /**
   * Keeps a frame, unless frames of this size at this rate would not fit. Returns whether it was
   * kept.
   */
  push(frame: Frame, receivedMs: number): boolean {
    const bytes = bytesOf(frame);
    const last = this.entries.at(-1);
    const spacingMs = (this.spanMs * bytes) / this.bytesMax;
    if (last && receivedMs - last.receivedMs < spacingMs) return false;
    this.entries.push({ frame, receivedMs, bytes });
    this.bytesHeld += bytes;
    let dropped = 0;
    while (this.isTooMuch(dropped, receivedMs)) this.bytesHeld -= this.entries[dropped++].bytes;
    if (dropped > 0) this.entries.splice(0, dropped);
    return true;
  }

  private isTooMuch(first: number, nowMs: number): boolean {
    if (first >= this.entries.length - 1) return false;
    return nowMs - this.entries[first].receivedMs > this.spanMs || this.bytesHeld > this.bytesMax;
  }

  /** Returns whether a time is between the first frame and the last. */
  spans(timeUs: number): boolean {
    return !!this.first && !!this.last && this.first.timeUs <= timeUs && timeUs <= this.last.timeUs;
  }

  /** Returns the newest frame that is not later than a time, else the first; null if empty. */
  at(timeUs: number): Frame | null {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle].frame.timeUs <= timeUs) low = middle + 1;
      else high = middle;
    }
    return this.entries[Math.max(0, low - 1)]?.frame ?? null;
  }

  /** Returns the frame `steps` after (before, if negative) the frame that is shown at a time. */
  step(timeUs: number, steps: number): Frame | null {
    const shown = this.at(timeUs);
    const index = this.entries.findIndex((entry) => entry.frame === shown) + steps;
    return this.entries[Math.min(this.entries.length - 1, Math.max(0, index))]?.frame ?? null;
  }

  clear(): void {
    this.entries = [];
    this.bytesHeld = 0;
  }
}
