// SPDX-License-Identifier: Apache-2.0
// The page's state: what the server has sent, what the user has chosen, and what is shown of it.
// The map and the panels read it and subscribe to its changes.
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
import { clampK, K_DEFAULT, K_MAX } from "./link";
import { type ListChange, ListLog } from "./list_changes";
import { LocalLists } from "./local_lists";
import { type Answer, type Pair, Pairs } from "./pairs";
import { type Place, Places } from "./places";
import { Ring } from "./ring";
import { type WhyNot, whyNot } from "./why_not";

/** In the state "locked", the server wants a token. */
export type Connection = { state: "connecting" | "live" | "gone" | "locked"; sentence: string };

/** What the user may not see, because a role is missing. */
export type Hidden = "positions" | "queries";

export interface ShownList {
  list: NeighborList;
  changes: (ListChange & { timeUs: number })[];
  /** Computed by the page from rounded positions, not an answer of the server. */
  isApproximate: boolean;
  /** No frame of the same tick is shown, so the list's ranks have no places on the map. */
  isApart: boolean;
}

/** What the live page shows of a question. */
interface Moment {
  frame: Frame | null;
  list: NeighborList | null;
  wide: NeighborList | null;
  isApproximate: boolean;
}

const CONNECTING: Connection = { state: "connecting", sentence: "Connecting to the server …" };
/** The map and the list of a question change at most this often; faster changes cannot be read. */
const ASK_EVERY_MS = 120;
/** The same while the pointer is on an object: answers are long then, see Answer.wide. */
const ASK_WIDE_EVERY_MS = 250;
const PLACES_EVERY_MS = 200;
/**
 * After this time without a frame and a list of the same tick, the last frame and the last list are
 * shown, although their ticks differ.
 */
const APART_AFTER_MS = 1000;
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
  /** The chosen standing query; null: an object, a place or nothing was chosen. */
  query: StandingQuery | null = null;
  queries: StandingQuery[] = [];
  /** Null: live. */
  pausedAtUs: number | null = null;
  /** The server's error for the last question; null: there was none. */
  refusal: string | null = null;
  /** The server's sentence about each thing that the user may not see. */
  readonly hidden = new Map<Hidden, string>();
  hovered: ObjectId | null = null;
  whyNot: WhyNot | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly places: Places;
  private isAsking = false;
  private askedMs = -Infinity;
  private placesAskedMs = -Infinity;
  private latestMs = -Infinity;
  private readonly pairs = new Pairs();
  private readonly localLists: LocalLists;
  /** The last answer to the question. */
  private answer: Answer | null = null;
  /** Null: the last frame is shown, and no list. */
  private moment: Moment | null = null;
  private shownPair: Pair | null = null;
  /** When frames or lists began to come without a pair; null: pairs come. */
  private apartSinceMs: number | null = null;
  private apartShownMs = -Infinity;
  /** Counts the runs of the server: an answer of an earlier run is not shown. */
  private run = 0;

  /** Tests give their own clock. */
  constructor(
    readonly world: World,
    private readonly nowMs = () => performance.now(),
  ) {
    this.places = new Places(world);
    this.localLists = new LocalLists(world.objects);
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

  /** Calls `listener` at each change. The returned function unsubscribes it. */
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
    if (this.connection !== before) return; // the listener has changed it already
    this.connection = CONNECTING;
    this.tell();
  }

  logOut(): void {
    this.world.logOut();
  }

  /** The server has started anew, and its ticks begin again. Forgets everything of the old run. */
  private forget(): void {
    this.ring.clear();
    this.lists.clear();
    this.places.clear();
    this.pairs.clear();
    this.clearMoment();
    this.latest = null;
    this.pausedAtUs = null;
    this.hovered = null;
    this.whyNot = null;
    ++this.run;
    this.tell();
  }

  private received(frame: Frame): void {
    this.latest = frame;
    this.latestMs = this.nowMs();
    this.ring.push(frame, this.latestMs);
    this.pairs.takeFrame(frame);
    this.choose();
    void this.ask();
    this.tell();
  }

  private answered(answer: Answer): void {
    this.answer = answer;
    this.refusal = null;
    this.lists.push(answer.list);
    this.pairs.takeAnswer(answer);
    this.choose();
    this.tell();
  }

  private clearMoment(): void {
    this.answer = null;
    this.moment = null;
    this.shownPair = null;
    this.apartSinceMs = null;
  }

  /** Chooses what the live page shows: the newest frame and list of the same tick. */
  private choose(): void {
    const { anchor, answer, latest } = this;
    const { last: pair } = this.pairs;
    if (!anchor || (!latest && !answer)) return;
    const nowMs = this.nowMs();
    if (!latest) {
      this.moment = { frame: null, list: null, wide: null, ...answer, isApproximate: false };
    } else if (pair && pair !== this.shownPair) {
      this.shownPair = pair;
      this.moment = { ...pair, isApproximate: false };
      this.apartSinceMs = null;
    } else if (latest !== pair?.frame || (answer && answer.list.tick > latest.tick)) {
      if (!this.moment?.frame) this.moment = null;
      this.apartSinceMs ??= nowMs;
      if (nowMs - this.apartSinceMs < APART_AFTER_MS) return;
      if (nowMs - this.apartShownMs < ASK_EVERY_MS) return;
      this.apartShownMs = nowMs;
      this.moment = this.apartMoment(latest);
    }
    void this.explain();
  }

  /** Returns what to show when pairs no longer come, as on a slow network. */
  private apartMoment(frame: Frame): Moment | null {
    const list = this.answer?.list;
    if (!list) return null;
    const isMoving = this.nowMs() - this.latestMs < APART_AFTER_MS;
    const local = isMoving ? this.localList(frame) : null;
    return { frame, list: local ?? list, wide: null, isApproximate: local !== null };
  }

  private localList(frame: Frame): NeighborList | null {
    const question = this.asked();
    if (frame.kind !== "objects" || !question || !this.terms) return null;
    return this.localLists.find(frame, this.terms.space, question);
  }

  shownFrame(): Frame | null {
    if (this.pausedAtUs !== null) return this.ring.at(this.pausedAtUs);
    return this.moment ? this.moment.frame : this.latest;
  }

  /** Identifies what is shown: each list or frame has another object. Null: nothing is chosen. */
  get shownMoment(): object | null {
    if (!this.anchor) return null;
    return this.pausedAtUs === null ? this.moment : this.shownFrame();
  }

  shownList(): ShownList | null {
    if (!this.anchor) return null;
    if (this.pausedAtUs !== null) return this.pastList();
    const { frame = null, list = null, isApproximate = false } = this.moment ?? {};
    if (!list) return null;
    const isApart = this.hasMap && frame?.tick !== list.tick;
    return { list, changes: this.changesOf(list), isApproximate, isApart };
  }

  private pastList(): ShownList | null {
    const frame = this.shownFrame();
    if (!frame) return null;
    const list = this.lists.ofTick(frame.tick);
    if (list) return { list, changes: this.changesOf(list), isApproximate: false, isApart: false };
    const local = this.localList(frame);
    return local && { list: local, changes: [], isApproximate: true, isApart: false };
  }

  private changesOf({ timeUs }: NeighborList): ShownList["changes"] {
    return this.lists.changesUntil(timeUs, CHANGES_SHOWN_US);
  }

  /**
   * Returns where objects are in the shown frame. An object outside of the frame is where it was
   * when the server was asked, unless `hides` returns true for that place.
   */
  positions(ids: ObjectId[], hides?: (place: Place) => boolean): Map<ObjectId, Place> {
    return this.places.find(this.shownFrame(), ids, hides);
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

  /** Chooses a standing query and asks its question. */
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
    this.pairs.clearAnswers();
    this.clearMoment();
    this.refusal = null;
    this.whyNot = null;
    this.askedMs = -Infinity;
    this.placesAskedMs = -Infinity;
    void this.ask();
    this.tell();
  }

  /**
   * Asks again if no frame has come for a while, because a server of vectors sends no frames. Call
   * it once a second.
   */
  refresh(): void {
    if (this.connection.state !== "live" || this.pausedAtUs !== null) return;
    if (this.nowMs() - this.askedMs > REFRESH_AFTER_MS) void this.ask();
  }

  /**
   * Whether answers must be long, to explain why the object under the pointer is not in the list.
   */
  private get wantsWide(): boolean {
    const { anchor, hovered } = this;
    return hovered !== null && !(anchor?.kind === "object" && anchor.id === hovered);
  }

  private async ask(): Promise<void> {
    const { anchor, k, run, terms, wantsWide } = this;
    const nowMs = this.nowMs();
    const everyMs = wantsWide ? ASK_WIDE_EVERY_MS : ASK_EVERY_MS;
    // Without terms, the space is not known, and so neither are the coordinates of a place.
    if (!anchor || !terms || this.isAsking || nowMs - this.askedMs < everyMs) return;
    this.isAsking = true;
    this.askedMs = nowMs;
    try {
      const question = this.questionOf(anchor);
      const full = await this.world.neighbors(wantsWide ? { ...question, k: K_MAX } : question);
      if (anchor === this.anchor && k === this.k && run === this.run) {
        const list = { ...full, neighbors: full.neighbors.slice(0, k) };
        this.answered({ list, wide: wantsWide ? full : null });
        await this.findPlaces(list);
      }
    } catch (error) {
      if (anchor === this.anchor) this.refusal = (error as Error).message;
    }
    this.isAsking = false;
    if (anchor !== this.anchor || k !== this.k || wantsWide !== this.wantsWide) void this.ask();
    this.tell();
  }

  private async findPlaces(list: NeighborList): Promise<void> {
    const nowMs = this.nowMs();
    if (this.pausedAtUs !== null || nowMs - this.placesAskedMs < PLACES_EVERY_MS) return;
    this.placesAskedMs = nowMs;
    const ids = this.hasMap ? list.neighbors.map((row) => row.id) : [];
    if (this.anchor?.kind === "object") ids.unshift(this.anchor.id);
    await this.places.ask(this.latest, ids);
  }

  /** Shows the frame that the ring has for a time; null: shows live frames again. */
  pause(timeUs: number | null): void {
    this.pausedAtUs = timeUs === null ? null : (this.ring.at(timeUs)?.timeUs ?? null);
    this.whyNot = null;
    this.tell();
  }

  stepBy(frames: number): void {
    const from = this.shownFrame()?.timeUs;
    if (from === undefined) return;
    const frame = this.ring.step(from, frames);
    if (frame) this.pause(frame.timeUs);
  }

  async hover(id: ObjectId | null): Promise<void> {
    if (id === this.hovered) return;
    this.hovered = id;
    this.whyNot = null;
    this.tell();
    if (this.moment?.wide) return this.explain();
    if (id) this.askedMs = -Infinity;
    await this.ask();
  }

  /** Finds out why the object under the pointer is not in the shown list. */
  private async explain(): Promise<void> {
    const { anchor, hovered: id, k, terms, moment } = this;
    if (!id || !anchor || !terms || !this.wantsWide || this.pausedAtUs !== null) return;
    const question = this.questionOf(anchor);
    const why = moment?.wide
      ? await whyNot(this.world, terms.space, question, moment.wide, id).catch(() => null)
      : null;
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
