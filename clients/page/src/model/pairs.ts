// SPDX-License-Identifier: Apache-2.0
// Pairs the frames of the WebSocket with the lists of the JSON API. They come separately, so the
// newest of each are often of different ticks; a pair is of one tick.
import type { Frame, NeighborList } from "../world/types";

export interface Answer {
  list: NeighborList;
  /** The K_MAX nearest of the same tick; null: they were not asked for. */
  wide: NeighborList | null;
}

export interface Pair extends Answer {
  frame: Frame;
}

/** 1.6 s of frames. An answer that takes longer gets no frame. */
const FRAMES_MAX = 32;
const ANSWERS_MAX = 8;

export class Pairs {
  private frames: Frame[] = [];
  /** Answers that are newer than all frames. */
  private answers: Answer[] = [];
  private newest: Pair | null = null;

  get last(): Pair | null {
    return this.newest;
  }

  /** Takes the next frame: of a later tick, or of the same tick and another rectangle. */
  takeFrame(frame: Frame): void {
    this.frames = this.frames.filter(({ tick }) => tick < frame.tick).slice(1 - FRAMES_MAX);
    this.frames.push(frame);
    const { newest } = this;
    const of = ({ list }: Answer) => list.tick === frame.tick;
    const answer = newest && of(newest) ? newest : this.answers.find(of);
    if (answer) this.newest = { list: answer.list, wide: answer.wide, frame };
    this.answers = this.answers.filter(({ list }) => list.tick > frame.tick);
  }

  takeAnswer(answer: Answer): void {
    const { tick } = answer.list;
    if (this.newest && tick < this.newest.frame.tick) return;
    const frame = this.frames.find((one) => one.tick === tick);
    if (frame) this.newest = { ...answer, frame };
    else if (tick > (this.frames.at(-1)?.tick ?? -1))
      this.answers = [...this.answers, answer].slice(-ANSWERS_MAX);
  }

  /** Forgets the answers to the last question. */
  clearAnswers(): void {
    this.answers = [];
    this.newest = null;
  }

  clear(): void {
    this.clearAnswers();
    this.frames = [];
  }
}
