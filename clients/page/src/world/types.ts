// SPDX-License-Identifier: Apache-2.0
// What the page knows of a server: the types of its answers, and World, the one interface through
// which the page asks. SocketWorld speaks to a server; FakeWorld serves development and tests.

export type Space = "planar2" | "planar3" | "wgs84" | "vector";

/** Edges in metres, or in degrees with the longitude as x. */
export interface Rectangle {
  xMin: number;
  yMin: number;
  xMax: number;
  yMax: number;
}

/** The objects of one tick inside a rectangle. */
export interface ObjectFrame {
  kind: "objects";
  tick: number;
  timeUs: number;
  rectangle: Rectangle;
  /** For each object its index in World.objects. */
  objects: Uint32Array;
  /** For each object x, y: 0 is the lower edge of the rectangle, 65535 the upper one. */
  xy: Uint16Array;
  tags: Uint32Array;
  /** How many objects the rectangle has; more than `objects` while they are still coming. */
  inView: number;
}

/** How many objects each cell of a rectangle has, row by row from yMin. A row begins at xMin. */
export interface RasterFrame {
  kind: "raster";
  tick: number;
  timeUs: number;
  rectangle: Rectangle;
  columns: number;
  rows: number;
  counts: Uint32Array;
  /** The sum of the counts. */
  inView: number;
}

export type Frame = ObjectFrame | RasterFrame;

/** The decimal text of a 64-bit id, as JSON has it; exact where a number would not be. */
export type ObjectId = string;

export interface ObjectInfo {
  id: ObjectId;
  name: string | null;
  x: number;
  y: number;
  z: number;
  timeUs: number;
  tags: number;
}

export interface Neighbor {
  id: ObjectId;
  name: string | null;
  distance: number;
}

export interface NeighborList {
  tick: number;
  timeUs: number;
  /** Nearest first. */
  neighbors: Neighbor[];
}

/** The anchor of a question: an object, or a place, whose height is 0 if z is absent. */
export type Anchor =
  | { kind: "object"; id: ObjectId }
  | { kind: "place"; x: number; y: number; z?: number };

/** What a neighbour must fulfil; 0 and Infinity are no condition. */
export interface Filter {
  tagsRequired: number;
  tagsForbidden: number;
  distanceMaxM: number;
  ageMaxUs: number;
}

export const NO_FILTER: Filter = {
  tagsRequired: 0,
  tagsForbidden: 0,
  distanceMaxM: Infinity,
  ageMaxUs: Infinity,
};

export interface Question {
  anchor: Anchor;
  k: number;
  filter: Filter;
}

/** A standing query with a place, or one that follows an object. */
export interface StandingQuery {
  stream: string;
  id: string;
  question: Question;
}

/** A road as x, y, x, y, … in metres. */
export type Road = readonly number[];

export interface ServerTerms {
  space: Space;
}

/** The state of the recording that the server plays. */
export interface Playback {
  timeUs: number;
  beginUs: number;
  endUs: number;
  /** A multiple of real time. */
  speed: number;
  paused: boolean;
}

/** A member that is absent stays as it is. */
export type PlaybackChange = Partial<Pick<Playback, "timeUs" | "speed" | "paused">>;

/** A refusal for lack of a role; the message is the server's sentence. */
export class Forbidden extends Error {}

/** Whether the user may log in, or has done so. */
export interface Access {
  /** The server has refused something for lack of a token or of a role. */
  hasKeys: boolean;
  hasToken: boolean;
  /** The server has accepted the page without a token. */
  worksWithoutToken: boolean;
}

export interface WorldListener {
  /** The server has answered. */
  onOpen(terms: ServerTerms): void;
  onFrame(frame: Frame): void;
  /** World.objects was emptied: earlier frames mean nothing now. */
  onForget(): void;
  /** The connection is lost; the world tries again by itself. */
  onGone(sentence: string): void;
  /** The server wants a token, or another token. The world waits for logIn(). */
  onLocked(sentence: string): void;
  /** The server sends no frames, because the user may not see them. */
  onForbidden(sentence: string): void;
}

export interface World {
  readonly objects: ObjectTable;
  readonly access: Readonly<Access>;
  open(listener: WorldListener): void;
  close(): void;
  /**
   * Shows the server a token; null: goes on without one. The listener gets the outcome: onOpen,
   * onGone or onLocked.
   */
  logIn(token: string | null): Promise<void>;
  /** Forgets the token and what the server has sent, and waits for logIn(). */
  logOut(): void;
  /** Says which rectangle the frames shall cover from now on. */
  setView(rectangle: Rectangle): void;
  neighbors(question: Question): Promise<NeighborList>;
  /** Finds an object by its id or its name. Returns null if there is no such object. */
  object(idOrName: string): Promise<ObjectInfo | null>;
  /** Some of the server's standing queries, at most as many as a map can show. */
  queries(): Promise<StandingQuery[]>;
  /** The counters and gauges of /v1/stats. */
  stats(): Promise<Map<string, number>>;
  /** The recording that the server plays; null if it plays none. */
  playback(): Promise<Playback | null>;
  /** The roads under a planar server's map; empty if the server was given no roads. */
  roads(): Promise<Road[]>;
  changePlayback(change: PlaybackChange): Promise<Playback>;
}

/** The ids and names of the objects that frames have shown; an index never changes its object. */
export class ObjectTable {
  private readonly ids: ObjectId[] = [];
  private readonly names = new Map<number, string>();
  private readonly indexes = new Map<ObjectId, number>();

  get count(): number {
    return this.ids.length;
  }

  /** Returns the index of an object, a new one if the object is new. */
  add(id: ObjectId, name: string | null = null): number {
    let index = this.indexes.get(id);
    if (index === undefined) {
      index = this.ids.length;
      this.ids.push(id);
      this.indexes.set(id, index);
    }
    if (name) this.names.set(index, name);
    return index;
  }

  id(index: number): ObjectId {
    return this.ids[index];
  }

  name(index: number): string | null {
    return this.names.get(index) ?? null;
  }

  /** Returns -1 for an object that no frame has shown. */
  indexOf(id: ObjectId): number {
    return this.indexes.get(id) ?? -1;
  }

  /** Returns up to `countMax` names or ids that begin with the text. */
  suggestions(text: string, countMax: number): string[] {
    const found: string[] = [];
    const begin = text.toLowerCase();
    for (let index = 0; index < this.ids.length && found.length < countMax; ++index) {
      const label = this.names.get(index) ?? this.ids[index];
      if (label.toLowerCase().startsWith(begin)) found.push(label);
    }
    return found;
  }

  clear(): void {
    this.ids.length = 0;
    this.names.clear();
    this.indexes.clear();
  }
}
