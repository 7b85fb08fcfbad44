// SPDX-License-Identifier: Apache-2.0
// The objects that the page holds of its view. Applies the changes of each ViewTick, and copies all
// objects into a frame. protocol/README.md describes the message.
import type { ByteBuffer } from "flatbuffers";
import { Rectangle as WireRectangle } from "../../generated/starling/wire/rectangle";
import { ViewRaster } from "../../generated/starling/wire/view-raster";
import { ViewTick } from "../../generated/starling/wire/view-tick";
import { check } from "./checked";
import type { ObjectFrame, ObjectTable, RasterFrame, Rectangle } from "./types";

/** Slots are small numbers. A larger number means that the message is broken. */
const SLOT_MAX = 1 << 26;
const NO_PLACE = -1;

export class ViewState {
  /** By slot: the place of its object in the arrays below. */
  private placeOf = new Int32Array(1024).fill(NO_PLACE);
  private count = 0;
  private slots = new Uint32Array(1024);
  private indexes = new Uint32Array(1024);
  private xy = new Uint16Array(2048);
  private tags = new Uint32Array(1024);

  constructor(private readonly objects: ObjectTable) {}

  clear(): void {
    this.placeOf.fill(NO_PLACE);
    this.count = 0;
  }

  /** Applies a message. Throws if it is broken, or changes a slot that is not held. */
  apply(message: ViewTick): ObjectFrame {
    if (message.isWhole()) this.clear();
    for (const slot of message.leftArray() ?? []) this.leave(slot);
    this.enter(message);
    const moved = message.movedArray() ?? new Uint32Array(0);
    const movedXy = message.movedXyArray() ?? new Uint16Array(0);
    check(movedXy.length === 2 * moved.length, "objects that moved to no place");
    moved.forEach((slot, i) => {
      const place = this.held(slot);
      this.xy[2 * place] = movedXy[2 * i];
      this.xy[2 * place + 1] = movedXy[2 * i + 1];
    });
    const tagged = message.taggedArray() ?? new Uint32Array(0);
    const tags = message.tagsArray() ?? new Uint32Array(0);
    check(tags.length === tagged.length, "objects with new tags, but not the tags");
    tagged.forEach((slot, i) => {
      this.tags[this.held(slot)] = tags[i];
    });
    return {
      kind: "objects",
      tick: Number(message.tick()),
      timeUs: Number(message.tauUs()),
      rectangle: rectangleOf(message.rectangle()),
      objects: this.indexes.slice(0, this.count),
      xy: this.xy.slice(0, 2 * this.count),
      tags: this.tags.slice(0, this.count),
      inView: Number(message.inView()),
    };
  }

  private enter(message: ViewTick): void {
    const entered = message.enteredArray() ?? new Uint32Array(0);
    const xy = message.enteredXyArray() ?? new Uint16Array(0);
    const tags = message.enteredTagsArray() ?? new Uint32Array(0);
    const names = message.enteredNamesLength();
    const hasNames = names > 0;
    check(
      xy.length === 2 * entered.length &&
        tags.length === entered.length &&
        message.enteredIdsLength() === entered.length &&
        (!hasNames || names === entered.length),
      "objects without an id, a place, tags or a name each",
    );
    // Many names may be the same text in the message.
    let nameRoom = message.bb?.capacity() ?? 0;
    this.reserve(this.count + entered.length);
    entered.forEach((slot, i) => {
      const place = this.placeFor(slot);
      const id = message.enteredIds(i) ?? 0n;
      const name = hasNames ? message.enteredNames(i) : null;
      nameRoom -= name?.length ?? 0;
      check(nameRoom >= 0, "names that are longer than their message");
      this.indexes[place] = this.objects.add(id.toString(), name);
      this.xy[2 * place] = xy[2 * i];
      this.xy[2 * place + 1] = xy[2 * i + 1];
      this.tags[place] = tags[i];
    });
  }

  private placeFor(slot: number): number {
    if (slot >= SLOT_MAX) throw new Error(`slot ${slot} is too large`);
    if (slot >= this.placeOf.length) {
      const grown = new Int32Array(Math.max(slot + 1, 2 * this.placeOf.length)).fill(NO_PLACE);
      grown.set(this.placeOf);
      this.placeOf = grown;
    }
    if (this.placeOf[slot] === NO_PLACE) {
      this.placeOf[slot] = this.count;
      this.slots[this.count++] = slot;
    }
    return this.placeOf[slot];
  }

  private held(slot: number): number {
    const place = this.placeOf[slot] ?? NO_PLACE;
    if (place === NO_PLACE) throw new Error(`slot ${slot} is not held`);
    return place;
  }

  /** The last object takes the place of the leaving object. */
  private leave(slot: number): void {
    const place = this.held(slot);
    const last = --this.count;
    this.placeOf[slot] = NO_PLACE;
    if (place === last) return;
    this.slots[place] = this.slots[last];
    this.placeOf[this.slots[place]] = place;
    this.indexes[place] = this.indexes[last];
    this.xy[2 * place] = this.xy[2 * last];
    this.xy[2 * place + 1] = this.xy[2 * last + 1];
    this.tags[place] = this.tags[last];
  }

  private reserve(count: number): void {
    if (count <= this.slots.length) return;
    const size = Math.max(count, 2 * this.slots.length);
    const grown = <Kind extends Uint32Array | Uint16Array>(into: Kind, from: Kind): Kind => {
      into.set(from);
      return into;
    };
    this.slots = grown(new Uint32Array(size), this.slots);
    this.indexes = grown(new Uint32Array(size), this.indexes);
    this.xy = grown(new Uint16Array(2 * size), this.xy);
    this.tags = grown(new Uint32Array(size), this.tags);
  }
}

function rectangleOf(edges: WireRectangle | null): Rectangle {
  if (!edges) throw new Error("a view without its rectangle");
  const rectangle = {
    xMin: edges.xMin(),
    yMin: edges.yMin(),
    xMax: edges.xMax(),
    yMax: edges.yMax(),
  };
  check(Object.values(rectangle).every(Number.isFinite), "a rectangle without edges");
  return rectangle;
}

export function readRaster(buffer: ByteBuffer, cellsMax: number): RasterFrame {
  const message = ViewRaster.getRootAsViewRaster(buffer);
  const counts = message.countsArray() ?? new Uint32Array(0);
  if (counts.length !== message.columns() * message.rows())
    throw new Error("a raster has another number of counts than cells");
  check(counts.length <= cellsMax, `a raster of ${counts.length} cells`);
  return {
    kind: "raster",
    tick: Number(message.tick()),
    timeUs: Number(message.tauUs()),
    rectangle: rectangleOf(message.rectangle()),
    columns: message.columns(),
    rows: message.rows(),
    counts: counts.slice(),
    inView: Number(message.inView()),
  };
}
