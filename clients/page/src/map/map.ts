// SPDX-License-Identifier: Apache-2.0
// The map: three canvases (ground, objects, overlay), zoom and pan, picking. It draws at most once
// per refresh of the screen, and only if something has changed.
import { select } from "d3-selection";
import { zoom as d3Zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import type { Link } from "../model/link";
import type { Model } from "../model/model";
import type { Frame, ObjectId, Rectangle, StandingQuery } from "../world/types";
import { drawCoast, drawGrid, loadCoast, roadsPath } from "./base_layer";
import { boundsOf, boundsOfPlaces } from "./bounds";
import { drawOverlay, queryNear } from "./overlay";
import {
  projectionOf,
  rectangleOf,
  zoomAround,
  zoomTo,
  type Projection,
  type Zoom,
} from "./projection";
import { NOTHING, Splat } from "./splat";
import { diameterFor } from "./sprites";
import { readTheme, type Theme } from "./theme";
import { ViewAsker } from "./view_asker";

const PICK_REACH_PX = 6;
/** reveal() centres the map on a place that is nearer to an edge than this. */
const EDGE_PX = 24;
/** Half the side of the square in which the objects of a planar server are first looked for. */
const PLANAR_REACH_M = 10_000_000;
const WORLD: Rectangle = { xMin: -180, yMin: -85, xMax: 180, yMax: 85 };

export class LiveMap {
  drawMs = 0;
  private readonly splat = new Splat();
  private readonly zooming: ZoomBehavior<HTMLCanvasElement, unknown>;
  private projection: Projection = projectionOf("wgs84");
  private zoom: Zoom = { k: 1, x: 0, y: 0 };
  private theme: Theme = readTheme();
  private image: ImageData | null = null;
  private coast: Path2D | null = null;
  private roads: Path2D | null = null;
  private space: string | null = null;
  private readonly asker: ViewAsker;
  private groundKey = "";
  private objectsKey: Frame | null = null;
  private isScheduled = false;
  private isFitted = false;
  /** The part of the map that a link names. */
  private wanted: Link["view"] = null;
  private draws = 0;

  constructor(
    private readonly model: Model,
    private readonly ground: HTMLCanvasElement,
    private readonly dots: HTMLCanvasElement,
    private readonly over: HTMLCanvasElement,
    /** Returns how many CSS pixels at the right and at the lower edge are under panels. */
    private readonly covered: () => { right: number; bottom: number },
  ) {
    this.asker = new ViewAsker(model.world);
    this.zooming = d3Zoom<HTMLCanvasElement, unknown>()
      .scaleExtent(this.projection.scales)
      .on("start", ({ sourceEvent }: { sourceEvent: Event | null }) => {
        if (sourceEvent) this.isFitted = true;
      })
      .on("zoom", ({ transform }: { transform: Zoom }) => this.moved(transform));
    select(over).call(this.zooming).on("dblclick.zoom", null);
    new ResizeObserver(() => this.resize()).observe(over);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.theme = readTheme();
      this.redraw();
    });
    model.subscribe(() => this.changed());
    this.resize();
  }

  private changed(): void {
    const space = this.model.terms?.space ?? null;
    if (space && space !== this.space) this.open(space);
    if (!this.isFitted && this.model.latest) this.fit();
    this.schedule();
  }

  private open(space: string): void {
    this.space = space;
    this.roads = null;
    this.projection = projectionOf(space as "wgs84" | "planar2");
    const reach = PLANAR_REACH_M;
    const all =
      space === "wgs84" ? WORLD : { xMin: -reach, yMin: -reach, xMax: reach, yMax: reach };
    this.zooming.scaleExtent(this.projection.scales).translateExtent(this.projection.edges);
    if (space === "wgs84")
      void loadCoast().then((coast) => {
        this.coast = coast;
        this.redraw();
      });
    else if (space !== "vector") void this.loadRoads();
    if (this.wanted) this.goTo(this.wanted);
    else this.show(all);
  }

  /** Shows the part of the map that a link names. */
  goTo(view: NonNullable<Link["view"]>): void {
    this.wanted = view;
    if (!this.space) return; // open() goes there
    const { width, height } = this.size();
    const middle = this.projection.toPlane(view.x, view.y);
    this.isFitted = true;
    this.jump(zoomAround(this.projection, middle, 2 ** view.zoom, width, height));
  }

  /** A server that is older than /v1/network has no roads. */
  private async loadRoads(): Promise<void> {
    const roads = await this.model.world.roads().catch(() => []);
    if (roads.length === 0) return;
    this.roads = roadsPath(roads);
    this.redraw();
  }

  private size(): { width: number; height: number } {
    return { width: this.over.clientWidth || 1, height: this.over.clientHeight || 1 };
  }

  private resize(): void {
    const { width, height } = this.size();
    for (const canvas of [this.ground, this.dots, this.over]) {
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
    }
    this.image = new ImageData(this.dots.width, this.dots.height);
    this.splat.resize(this.dots.width, this.dots.height, this.image.data);
    this.redraw();
    this.askSoon();
  }

  private moved(transform: Zoom): void {
    this.zoom = { k: transform.k, x: transform.x, y: transform.y };
    this.redraw();
    this.askSoon();
  }

  private jump(zoom: Zoom): void {
    const transform = zoomIdentity.translate(zoom.x, zoom.y).scale(zoom.k);
    select(this.over).call(this.zooming.transform, transform);
  }

  /** Shows a rectangle in the part of the map that no panel covers. */
  private show(rectangle: Rectangle): void {
    const { width, height } = this.size();
    const { right, bottom } = this.covered();
    this.jump(zoomTo(this.projection, rectangle, width - right, height - bottom));
  }

  /** Zooms so that all places are visible, with a margin. */
  showPlaces(places: [number, number][]): void {
    const sideMin = this.space === "wgs84" ? 0.002 : 20;
    const bounds = boundsOfPlaces(places, sideMin);
    if (bounds) this.show(bounds);
  }

  /** Shows all objects that the last frame has. */
  fit(): void {
    const frame = this.model.latest;
    const bounds = frame && boundsOf(frame, this.space === "wgs84" ? 0.01 : 100);
    if (!bounds) return;
    this.isFitted = bounds.isFine;
    this.show(bounds.rectangle);
  }

  panBy(x: number, y: number): void {
    select(this.over).call(this.zooming.translateBy, x / this.zoom.k, y / this.zoom.k);
  }

  zoomBy(factor: number): void {
    select(this.over).call(this.zooming.scaleBy, factor);
  }

  /** The middle of the part of the map that no panel covers, in CSS pixels. */
  middle(): [number, number] {
    const { width, height } = this.size();
    const { right, bottom } = this.covered();
    return [(width - right) / 2, (height - bottom) / 2];
  }

  centreOn(x: number, y: number): void {
    const place = this.projection.toPlane(x, y);
    select(this.over).call(this.zooming.translateTo, ...place, this.middle());
  }

  /** Centres the map on a place, unless the place is visible and no panel covers it. */
  reveal(x: number, y: number): void {
    const { width, height } = this.size();
    const { right, bottom } = this.covered();
    const [planeX, planeY] = this.projection.toPlane(x, y);
    const pixelX = planeX * this.zoom.k + this.zoom.x;
    const pixelY = planeY * this.zoom.k + this.zoom.y;
    const isSeen =
      pixelX > EDGE_PX &&
      pixelX < width - right - EDGE_PX &&
      pixelY > EDGE_PX &&
      pixelY < height - bottom - EDGE_PX;
    if (!isSeen) this.centreOn(x, y);
  }

  /** The middle of the map and its scale, for a link. */
  view(): NonNullable<Link["view"]> {
    const { width, height } = this.size();
    const [x, y] = this.positionOf(width / 2, height / 2);
    return { x, y, zoom: Math.log2(this.zoom.k) };
  }

  positionOf(pixelX: number, pixelY: number): [number, number] {
    const { k, x, y } = this.zoom;
    return this.projection.fromPlane((pixelX - x) / k, (pixelY - y) / k);
  }

  /** Returns the object that is drawn at a place of the screen, in CSS pixels, or null. */
  objectAt(pixelX: number, pixelY: number, reach = PICK_REACH_PX): ObjectId | null {
    const frame = this.model.shownFrame();
    if (frame?.kind !== "objects") return null;
    const ratio = devicePixelRatio;
    const i = this.splat.pick(pixelX * ratio, pixelY * ratio, Math.round(reach * ratio));
    return i === NOTHING || i >= frame.objects.length
      ? null
      : this.model.world.objects.id(frame.objects[i]);
  }

  /** Returns the standing query whose mark is at a place of the screen, in CSS pixels, or null. */
  queryAt(pixelX: number, pixelY: number): StandingQuery | null {
    const places = this.model.queryPlaces();
    return queryNear(places, this.projection, this.zoom, [pixelX, pixelY]);
  }

  private askSoon(): void {
    if (!this.space || this.space === "vector") return;
    const { width, height } = this.size();
    this.asker.askSoon((margin) => rectangleOf(this.projection, this.zoom, width, height, margin));
  }

  private redraw(): void {
    this.groundKey = "";
    this.objectsKey = null;
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  private draw(): void {
    const beganMs = performance.now();
    const ratio = devicePixelRatio;
    const zoom = { k: this.zoom.k * ratio, x: this.zoom.x * ratio, y: this.zoom.y * ratio };
    const frame = this.model.shownFrame();
    const ground = this.ground.getContext("2d") as CanvasRenderingContext2D;
    if (this.groundKey === "") {
      if (this.space === "wgs84") drawCoast(ground, this.coast, zoom, this.theme);
      else drawGrid(ground, this.roads, zoom, ratio, this.theme);
      this.groundKey = "drawn";
    }
    if (frame !== this.objectsKey && this.image) {
      this.drawFrame(frame, zoom, ratio);
      this.dots.getContext("2d")?.putImageData(this.image, 0, 0);
      this.objectsKey = frame;
    }
    const over = this.over.getContext("2d") as CanvasRenderingContext2D;
    drawOverlay(over, this.model, this.projection, zoom, ratio, this.theme);
    this.drawMs = performance.now() - beganMs;
    this.over.dataset["draws"] = String(++this.draws);
    this.over.dataset["drawMs"] = this.drawMs.toFixed(1);
  }

  private drawFrame(frame: Frame | null, zoom: Zoom, ratio: number): void {
    const { colours } = this.theme;
    if (!frame) this.splat.clear();
    else if (frame.kind === "raster") this.splat.drawRaster(frame, this.projection, zoom, colours);
    else {
      const diameter = diameterFor(frame.tags.length, ratio);
      this.splat.drawObjects(frame, this.projection, zoom, colours, diameter);
    }
  }
}
