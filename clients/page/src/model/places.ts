// SPDX-License-Identifier: Apache-2.0
// Finds where the objects of a list are: in the shown frame, or, for objects outside of it, at the
// place in the last answer of the server.
import { positionsOf } from "../world/quantise";
import type { Frame, ObjectId, World } from "../world/types";

export type Place = [number, number];

/** At most this many objects outside of the frame are asked for. */
const OUTSIDERS_MAX = 16;
/** An object that the server does not have is asked for again after this time. */
const ASK_AGAIN_MS = 10_000;

export class Places {
  private readonly outsiders = new Map<ObjectId, Place>();
  /** When the server said that it does not have an object. */
  private readonly missingSinceMs = new Map<ObjectId, number>();

  constructor(private readonly world: World) {}

  clear(): void {
    this.outsiders.clear();
    this.missingSinceMs.clear();
  }

  /** Returns whether the server has said that it does not have the object. */
  isMissing(id: ObjectId): boolean {
    return this.missingSinceMs.has(id);
  }

  /** Leaves out an object outside of the frame if `hides` returns true for its place. */
  find(
    frame: Frame | null,
    ids: ObjectId[],
    hides: (place: Place) => boolean = () => false,
  ): Map<ObjectId, Place> {
    const places = this.inFrame(frame, ids);
    for (const id of ids) {
      const outside = this.outsiders.get(id);
      if (outside && !places.has(id) && !hides(outside)) places.set(id, outside);
    }
    return places;
  }

  /** Asks the server for objects outside of the frame. The old places are kept until it answers. */
  async ask(frame: Frame | null, ids: ObjectId[]): Promise<void> {
    const known = this.inFrame(frame, ids);
    for (const id of known.keys()) this.missingSinceMs.delete(id);
    const nowMs = performance.now();
    const isDue = (id: ObjectId) =>
      nowMs - (this.missingSinceMs.get(id) ?? -Infinity) > ASK_AGAIN_MS;
    const unknown = ids.filter((id) => !known.has(id) && isDue(id)).slice(0, OUTSIDERS_MAX);
    const found = await Promise.all(unknown.map((id) => this.world.object(id)));
    this.outsiders.clear();
    found.forEach((info, i) => {
      this.missingSinceMs.delete(unknown[i]);
      if (!info) this.missingSinceMs.set(unknown[i], nowMs);
      // A vector has no place.
      else if (Number.isFinite(info.x)) this.outsiders.set(info.id, [info.x, info.y]);
    });
  }

  private inFrame(frame: Frame | null, ids: ObjectId[]): Map<ObjectId, Place> {
    const indexes = new Map(ids.map((id) => [this.world.objects.indexOf(id), id]));
    const places = new Map<ObjectId, Place>();
    if (frame?.kind === "objects")
      for (const [index, place] of positionsOf(frame, new Set(indexes.keys())))
        places.set(indexes.get(index) as ObjectId, place);
    return places;
  }
}
