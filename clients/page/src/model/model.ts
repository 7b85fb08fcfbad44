// SPDX-License-Identifier: Apache-2.0
// The page's state: what the server has sent, what the user has chosen, and what is shown of it.
// The map and the panels read it and are told when it changes.
import {
  Forbidden,
  NO_FILTER,
  type Anchor,
  type Filter,
  type Frame,
  type NeighborList,
  type ObjectId,
  type ObjectInfo,
  type Question,
  type ServerTerms,
  type StandingQuery,
  type World,
} from "../world/types";
import { clampK, K_DEFAULT } from "./link";
import { type ListChange, type LoggedList, ListLog } from "./list_changes";
import { listFromFrame } from "./local_lists";
import { Places } from "./places";
import { Ring } from "./ring";
import { type WhyNot, whyNot } from "./why_not";

/** Locked: the server wants a token. */
export type Connection = { state: "connecting" | "live" | "gone" | "locked"; sentence: string };

/** What the user may not see. */
export type Hidden = "positions" | "queries";

export interface ShownList {
  list: NeighborList;
  changes: (ListChange & { timeUs: number })[];
  /** Computed by the page from rounded positions, not an answer of the server. */
  isApproximate: boolean;
}

const CONNECTING: Connection = { state: "connecting", sentence: "Connecting to the server …" };
const ASK_EVERY_MS = 200;
const REFRESH_AFTER_MS = 900;
const CHANGES_SHOWN_US = 4_000_000;

export class Model {
  connection: Connection = CONNECTING;
  terms: ServerTerms | null = null;
  latest: Frame | null = null;
  readonly ring = new Ring();
  readonly lists = new ListLog();
  anchor: Anchor | null = null;
  anchorInfo: ObjectInfo | null = null;
  k = K_DEFAULT;
  filter: Filter = NO_FILTER;
  /** The standing query that was chosen, if it was one. */
  query: StandingQuery | null = null;
  queries: StandingQuery[] = [];
  /** Null: live. */
  pausedAtUs: number | null = null;
  /** What the server said to the last question, if it was an error. */
  refusal: string | null = null;
  /** The server's sentences about what the user has no role for. */
  readonly hidden = new Map<Hidden, string>();
  hovered: ObjectId | null = null;
  whyNot: WhyNot | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly places: Places;
  private isAsking = false;
  private askedMs = -Infinity;
  /** Counts the runs of the server: an answer of an earlier one is not shown. */
  private run = 0;

  constructor(readonly world: World) {
    this.places = new Places(world);
  }

  start(): void {
    this.world.open({
      onOpen: (terms) => this.opened(terms),
      onFrame: (frame) => this.received(frame),
      onForget: () => this.forget(),
      onGone: (sentence) => {
        this.connection = { state: "gone", sentence };
        this.tell();
      },
      onLocked: (sentence) => this.locked(sentence),
      onForbidden: (sentence) => {
        this.hidden.set("positions", sentence);
        this.tell();
      },
    });
  }

  private questionOf(anchor: Anchor): Question {
    return { anchor, k: this.k, filter: this.filter };
  }

  /** The question that the panel shows; null: nothing is chosen. */
  asked(): Question | null {
    return this.anchor && this.questionOf(this.anchor);
  }

  /** Calls `listener` at each change. The returned function ends that. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(): void {
    for (const listener of this.listeners) listener();
  }

  /** Whether objects have places, and distances are metres. */
  get hasMap(): boolean {
    return this.terms?.space !== "vector";
  }

  private opened(terms: ServerTerms): void {
    this.terms = terms;
    this.connection = { state: "live", sentence: "" };
    this.hidden.clear();
    if (this.anchor?.kind === "object" && !this.anchorInfo) this.askInfo(this.anchor);
    if (!this.hasMap && this.anchor?.kind === "place") this.anchor = null;
    void this.ask();
    this.tell();
  }

  /** Forgets what the last user saw. Keeps the question for the next user. */
  private locked(sentence: string): void {
    this.connection = { state: "locked", sentence };
    this.terms = null;
    this.queries = [];
    this.query = null;
    this.anchorInfo = null;
    this.refusal = null;
    this.hidden.clear();
    this.tell();
  }

  /** Null: goes on without a token. If the server refuses, `connection` says why. */
  async logIn(token: string | null): Promise<void> {
    const before = this.connection;
    await this.world.logIn(token);
    if (this.connection !== before) return; // the world has told the outcome
    this.connection = CONNECTING;
    this.tell();
  }

  logOut(): void {
    this.world.logOut();
  }

  /** The server has started anew, and its ticks begin again: forgets what is of the old run. */
  private forget(): void {
    this.ring.clear();
    this.lists.clear();
    this.places.clear();
    this.latest = null;
    this.pausedAtUs = null;
    this.hovered = null;
    this.whyNot = null;
    ++this.run;
    this.tell();
  }

  private received(frame: Frame): void {
    this.latest = frame;
    this.ring.push(frame, performance.now());
    void this.ask();
    this.tell();
  }

  shownFrame(): Frame | null {
    return this.pausedAtUs === null ? this.latest : this.ring.at(this.pausedAtUs);
  }

  shownList(): ShownList | null {
    if (!this.anchor) return null;
    const frame = this.shownFrame();
    const logged: LoggedList | null =
      this.pausedAtUs === null ? this.lists.last : this.lists.at(this.pausedAtUs);
    if (logged) {
      const changes = this.lists.changesUntil(logged.list.timeUs, CHANGES_SHOWN_US);
      return { list: logged.list, changes, isApproximate: false };
    }
    if (this.pausedAtUs === null || frame?.kind !== "objects" || !this.terms) return null;
    const { objects } = this.world;
    const list = listFromFrame(frame, objects, this.terms.space, this.questionOf(this.anchor));
    return { list, changes: [], isApproximate: true };
  }

  /** Returns where objects are in the shown frame, or elsewhere if the page has learnt it. */
  positions(ids: ObjectId[]): Map<ObjectId, [number, number]> {
    return this.places.find(this.shownFrame(), ids);
  }

  /** Whether the server does not have the chosen object: it was removed, or it expired. */
  get isAnchorMissing(): boolean {
    return this.anchor?.kind === "object" && this.places.isMissing(this.anchor.id);
  }

  async readQueries(): Promise<void> {
    try {
      this.queries = await this.world.queries();
      this.hidden.delete("queries");
    } catch (error) {
      if (error instanceof Forbidden) this.hidden.set("queries", error.message);
    }
    this.tell();
  }

  /** Returns the place of each standing query; if it follows an object, the object's place. */
  queryPlaces(): [StandingQuery, [number, number]][] {
    const anchors = this.queries.map(({ question }) => question.anchor);
    const followed = anchors.flatMap((anchor) => (anchor.kind === "object" ? [anchor.id] : []));
    const places = followed.length ? this.positions(followed) : new Map<ObjectId, never>();
    return this.queries.flatMap((query, i): [StandingQuery, [number, number]][] => {
      const anchor = anchors[i];
      if (anchor.kind === "place") return [[query, [anchor.x, anchor.y]]];
      const place = places.get(anchor.id);
      return place ? [[query, place]] : [];
    });
  }

  /** Chooses an object on the map, or the standing query that follows it. */
  selectObject(id: ObjectId): void {
    const follows = ({ question: { anchor } }: StandingQuery) =>
      anchor.kind === "object" && anchor.id === id;
    const query = this.queries.find(follows);
    if (query) this.selectQuery(query);
    else this.select({ kind: "object", id });
  }

  /** Asks the same as a standing query. */
  selectQuery(query: StandingQuery): void {
    this.k = query.question.k;
    this.select(query.question.anchor, query.question.filter);
    this.query = query;
    this.tell();
  }

  select(anchor: Anchor | null, filter: Filter = NO_FILTER): void {
    this.anchor = anchor;
    this.filter = filter;
    this.query = null;
    this.anchorInfo = null;
    this.askAnew();
    if (anchor?.kind === "object") this.askInfo(anchor);
  }

  private askInfo(anchor: Anchor & { kind: "object" }): void {
    void this.world.object(anchor.id).then(
      (info) => {
        if (this.anchor !== anchor) return;
        this.anchorInfo = info;
        if (!info) this.refusal = `The server has no object ${anchor.id}.`;
        this.tell();
      },
      () => undefined,
    );
  }

  setK(k: number): void {
    this.k = clampK(k);
    this.askAnew();
  }

  private askAnew(): void {
    this.lists.clear();
    this.places.clear();
    this.refusal = null;
    this.whyNot = null;
    this.askedMs = -Infinity;
    void this.ask();
    this.tell();
  }

  /**
   * Asks again if no frame has come for a while, because a server of vectors sends no frames. Asks
   * again why not, because the objects move. Call it once a second.
   */
  refresh(): void {
    if (this.connection.state !== "live" || this.pausedAtUs !== null) return;
    if (performance.now() - this.askedMs > REFRESH_AFTER_MS) void this.ask();
    void this.explain();
  }

  private async ask(): Promise<void> {
    const { anchor, k, run, terms } = this;
    const nowMs = performance.now();
    // A place is asked for in the coordinates of the server's space.
    if (!anchor || !terms || this.isAsking || nowMs - this.askedMs < ASK_EVERY_MS) return;
    this.isAsking = true;
    this.askedMs = nowMs;
    try {
      const list = await this.world.neighbors(this.questionOf(anchor));
      if (anchor === this.anchor && k === this.k && run === this.run) {
        this.lists.push(list);
        this.refusal = null;
        await this.findPlaces(list);
      }
    } catch (error) {
      if (anchor === this.anchor) this.refusal = (error as Error).message;
    }
    this.isAsking = false;
    if (anchor !== this.anchor || k !== this.k) void this.ask();
    this.tell();
  }

  private async findPlaces(list: NeighborList): Promise<void> {
    if (this.pausedAtUs !== null) return;
    const ids = this.hasMap ? list.neighbors.map((row) => row.id) : [];
    if (this.anchor?.kind === "object") ids.unshift(this.anchor.id);
    await this.places.ask(this.latest, ids);
  }

  /** Shows the ring at a time; null: live again. */
  pause(timeUs: number | null): void {
    this.pausedAtUs = timeUs === null ? null : (this.ring.at(timeUs)?.timeUs ?? null);
    this.whyNot = null;
    this.tell();
  }

  stepBy(frames: number): void {
    const from = this.pausedAtUs ?? this.latest?.timeUs;
    if (from === undefined) return;
    const frame = this.ring.step(from, frames);
    if (frame) this.pause(frame.timeUs);
  }

  async hover(id: ObjectId | null): Promise<void> {
    if (id === this.hovered) return;
    this.hovered = id;
    this.whyNot = null;
    this.tell();
    await this.explain();
  }

  /** Asks why the object under the pointer is not in the list. */
  private async explain(): Promise<void> {
    const { anchor, hovered: id, k, terms } = this;
    const isAnchor = anchor?.kind === "object" && anchor.id === id;
    if (!id || !anchor || !terms || isAnchor || this.pausedAtUs !== null) return;
    const question = this.questionOf(anchor);
    const why = await whyNot(this.world, terms.space, question, id).catch(() => null);
    if (this.hovered !== id || this.anchor !== anchor || this.k !== k) return;
    if (this.pausedAtUs !== null) return;
    this.whyNot = why;
    this.tell();
  }

  label(id: ObjectId): string {
    const { objects } = this.world;
    const index = objects.indexOf(id);
    return (index >= 0 ? objects.name(index) : null) ?? id;
  }
}
