// SPDX-License-Identifier: Apache-2.0
// A World without a server, for tests and development. A seed decides how its objects move. It is
// not part of page.js.
import { distanceBetween, type Point } from "../world/distance";
import { passes } from "../world/filter";
import { quantise } from "../world/quantise";
import {
  NO_FILTER,
  ObjectTable,
  type Access,
  type Frame,
  type NeighborList,
  type ObjectInfo,
  type Question,
  type Rectangle,
  type Road,
  type StandingQuery,
  type World,
  type WorldListener,
} from "../world/types";
import { fakeStats } from "./fake_stats";
import { seededRandom } from "./random";

export interface FakeOptions {
  space: "planar2" | "wgs84";
  count: number;
  tickMs: number;
  seed: number;
  /** More objects than this in a view come as a raster. */
  objectsMax: number;
}

const RIGHT_TOKEN = "right";
/** A standing query follows this object. */
const FOLLOWED = "9";
const RASTER_COLUMNS = 320;
const RASTER_ROWS = 200;

export class FakeWorld implements World {
  readonly objects = new ObjectTable();
  private readonly x: Float64Array;
  private readonly y: Float64Array;
  private readonly vx: Float64Array;
  private readonly vy: Float64Array;
  private readonly tags: Uint32Array;
  private readonly extent: Rectangle;
  private view: Rectangle;
  private tick = 0;
  private timeUs = Date.UTC(2026, 2, 1, 12) * 1000;
  private listener: WorldListener | null = null;
  private timer: ReturnType<typeof setInterval> | null = null;
  readonly access: Access = { hasKeys: false, hasToken: false, worksWithoutToken: false };
  private isGone = false;

  constructor(private readonly options: FakeOptions) {
    const { count, space } = options;
    const random = seededRandom(options.seed);
    this.extent =
      space === "wgs84"
        ? { xMin: 2, yMin: 53, xMax: 12, yMax: 59 }
        : { xMin: -4000, yMin: -2500, xMax: 4000, yMax: 2500 };
    this.view = this.extent;
    this.x = new Float64Array(count);
    this.y = new Float64Array(count);
    this.vx = new Float64Array(count);
    this.vy = new Float64Array(count);
    this.tags = new Uint32Array(count);
    const width = this.extent.xMax - this.extent.xMin;
    const height = this.extent.yMax - this.extent.yMin;
    for (let i = 0; i < count; ++i) {
      // Half of the objects crowd around the middle, as in a city.
      const spread = i % 2 === 0 ? 1 : 0.25;
      this.x[i] = this.extent.xMin + width * (0.5 + (random() - 0.5) * spread);
      this.y[i] = this.extent.yMin + height * (0.5 + (random() - 0.5) * spread);
      this.vx[i] = (random() - 0.5) * width * 0.0006;
      this.vy[i] = (random() - 0.5) * height * 0.0006;
      this.tags[i] = random() < 0.5 ? 0 : 1 << Math.floor(random() * 4);
      this.objects.add(String(i + 1), `${space === "wgs84" ? "ship" : "car"}-${i + 1}`);
    }
  }

  open(listener: WorldListener): void {
    this.listener = listener;
    listener.onOpen({ space: this.options.space });
    this.timer = setInterval(() => this.advance(), this.options.tickMs);
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** Pretends that the server has stopped, or has started again. */
  setGone(isGone: boolean): void {
    this.isGone = isGone;
    if (isGone) this.listener?.onGone("The server does not answer.");
    else this.listener?.onOpen({ space: this.options.space });
  }

  /** Pretends that the server wants a token. */
  lock(sentence: string): void {
    Object.assign(this.access, { hasKeys: true, hasToken: false });
    this.isGone = true;
    this.listener?.onForget();
    this.listener?.onLocked(sentence);
  }

  async logIn(token: string | null): Promise<void> {
    if (token !== RIGHT_TOKEN) return this.lock("The server does not know this token.");
    this.access.hasToken = true;
    this.setGone(false);
  }

  logOut(): void {
    this.lock("You have logged out.");
  }

  setView(rectangle: Rectangle): void {
    this.view = rectangle;
  }

  /** Moves all objects by one tick and passes the new frame to the listener. */
  advance(): void {
    if (this.isGone) return;
    const { xMin, yMin, xMax, yMax } = this.extent;
    for (let i = 0; i < this.x.length; ++i) {
      this.x[i] += this.vx[i];
      this.y[i] += this.vy[i];
      if (this.x[i] < xMin || this.x[i] > xMax) this.vx[i] = -this.vx[i];
      if (this.y[i] < yMin || this.y[i] > yMax) this.vy[i] = -this.vy[i];
    }
    ++this.tick;
    this.timeUs += this.options.tickMs * 1000;
    this.listener?.onFrame(this.frame());
  }

  frame(): Frame {
    const { xMin, yMin, xMax, yMax } = this.view;
    const inside: number[] = [];
    for (let i = 0; i < this.x.length; ++i)
      if (this.x[i] >= xMin && this.x[i] <= xMax && this.y[i] >= yMin && this.y[i] <= yMax)
        inside.push(i);
    const head = { tick: this.tick, timeUs: this.timeUs, rectangle: this.view };
    if (inside.length > this.options.objectsMax)
      return { ...head, kind: "raster", inView: inside.length, ...this.raster(inside) };
    const xy = new Uint16Array(2 * inside.length);
    const tags = new Uint32Array(inside.length);
    inside.forEach((object, i) => {
      xy[2 * i] = quantise(this.x[object], xMin, xMax);
      xy[2 * i + 1] = quantise(this.y[object], yMin, yMax);
      tags[i] = this.tags[object];
    });
    return {
      ...head,
      kind: "objects",
      objects: Uint32Array.from(inside),
      xy,
      tags,
      inView: tags.length,
    };
  }

  private raster(inside: number[]): { columns: number; rows: number; counts: Uint32Array } {
    const { xMin, yMin, xMax, yMax } = this.view;
    const counts = new Uint32Array(RASTER_COLUMNS * RASTER_ROWS);
    for (const i of inside) {
      const column = Math.floor(((this.x[i] - xMin) / (xMax - xMin)) * (RASTER_COLUMNS - 1));
      const row = Math.floor(((this.y[i] - yMin) / (yMax - yMin)) * (RASTER_ROWS - 1));
      ++counts[row * RASTER_COLUMNS + column];
    }
    return { columns: RASTER_COLUMNS, rows: RASTER_ROWS, counts };
  }

  async neighbors({ anchor, k, filter }: Question): Promise<NeighborList> {
    this.refuseIfGone();
    const self = anchor.kind === "object" ? Number(anchor.id) - 1 : -1;
    const from = anchor.kind === "object" ? this.point(self) : ([anchor.x, anchor.y, 0] as Point);
    const all = Array.from(this.x, (_, i) => ({ i, d: this.distance(from, i) }));
    const nearest = all
      .filter(({ i, d }) => i !== self && d <= filter.distanceMaxM && passes(filter, this.tags[i]))
      .sort((a, b) => a.d - b.d || a.i - b.i)
      .slice(0, k);
    return {
      tick: this.tick,
      timeUs: this.timeUs,
      neighbors: nearest.map(({ i, d }) => ({
        id: this.objects.id(i),
        name: this.objects.name(i),
        distance: d,
      })),
    };
  }

  private point(i: number): Point {
    return [this.x[i], this.y[i], 0];
  }

  private distance(from: Point, i: number): number {
    return distanceBetween(this.options.space, from, this.point(i));
  }

  async object(idOrName: string): Promise<ObjectInfo | null> {
    this.refuseIfGone();
    const i = Number(idOrName.replace(/^(ship|car)-/, "")) - 1;
    if (!(i >= 0 && i < this.x.length && Number.isInteger(i))) return null;
    const [x, y, z] = this.point(i);
    return {
      id: this.objects.id(i),
      name: this.objects.name(i),
      x,
      y,
      z,
      timeUs: this.timeUs,
      tags: this.tags[i],
    };
  }

  async queries(): Promise<StandingQuery[]> {
    const { xMin, yMin, xMax, yMax } = this.extent;
    const fixed = [0.3, 0.5, 0.7].map((share, i): StandingQuery => ({
      stream: "fake",
      id: String(i + 1),
      question: {
        anchor: {
          kind: "place",
          x: xMin + share * (xMax - xMin),
          y: yMin + share * (yMax - yMin),
        },
        k: 3 + i,
        filter: { ...NO_FILTER, tagsRequired: i },
      },
    }));
    const anchor = { kind: "object", id: FOLLOWED } as const;
    const question = { anchor, k: 6, filter: NO_FILTER };
    return [...fixed, { stream: "fake", id: "4", question }];
  }

  async roads(): Promise<Road[]> {
    const { xMin, yMin, xMax, yMax } = this.extent;
    return [
      [xMin, yMin, 0, 0, xMax, yMax],
      [xMin, yMax, xMax, yMin],
    ];
  }

  async playback(): Promise<null> {
    return null;
  }

  async changePlayback(): Promise<never> {
    throw new Error("this world plays no recording");
  }

  async stats(): Promise<Map<string, number>> {
    this.refuseIfGone();
    return fakeStats(this.tick, this.x.length);
  }

  private refuseIfGone(): void {
    if (this.isGone) throw new Error("the server does not answer");
  }
}
