// SPDX-License-Identifier: Apache-2.0
// Plays a recording at 20 times its speed. Each time the map is drawn, the test compares the
// drawing with the table. It reads the drawing from the calls to the canvas.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { findBrowser, launch } from "./browser";
import { freePort, until } from "./starling";

const executable = findBrowser();
const program = process.env["STARLING_PROGRAM"] ?? "";
const trace = process.env["STARLING_TRACE"] ?? "";

const K = 8;
const TICKS_MIN = 10;
/** Positions of a view are rounded to 1/65,535 of its sides, and distances to decimetres. */
const TOLERANCE_M = 0.2;

interface Mark {
  x: number;
  y: number;
  isOnMap: boolean;
  /** The canvas below has a dot there. */
  hasDot: boolean;
}

/** What is on the screen after the map was drawn. */
interface Sample {
  tick: number;
  rows: { name: string; distance: string }[];
  centre: Mark | null;
  /** The mark of each label, such as "1 · name". */
  marks: Record<string, Mark>;
  status: string;
  recording: string;
  /** The table says that it is of another tick, for example because the machine is too slow. */
  isApart: boolean;
}

/** Runs in the page before its scripts: keeps a sample each time the map is drawn. */
function watch(): void {
  const EDGE_PX = 8; // a dot that is cut by an edge is not drawn
  const samples: Sample[] = [];
  Object.assign(globalThis, { samples });
  let last: Mark | null = null;
  let centre: Mark | null = null;
  let marks: Record<string, Mark> = {};
  const { arc, clearRect, fillText } = CanvasRenderingContext2D.prototype;
  const isOverlay = (context: CanvasRenderingContext2D) => context.canvas.id === "map";
  const markAt = (x: number, y: number): Mark => {
    const dots = document.querySelectorAll<HTMLCanvasElement>(".map canvas")[1];
    const isOnMap = Math.min(x, y, dots.width - x, dots.height - y) > EDGE_PX;
    const [left, top] = [Math.round(x) - 1, Math.round(y) - 1];
    const { data } = dots.getContext("2d")!.getImageData(left, top, 3, 3);
    return { x, y, isOnMap, hasDot: data.some((value, i) => i % 4 === 3 && value > 0) };
  };
  CanvasRenderingContext2D.prototype.clearRect = function (...edges) {
    if (isOverlay(this)) [centre, marks] = [null, {}];
    clearRect.apply(this, edges);
  };
  CanvasRenderingContext2D.prototype.arc = function (x, y, radius, ...rest) {
    if (isOverlay(this)) last = markAt(x, y);
    if (isOverlay(this) && radius === 10) centre = last;
    arc.call(this, x, y, radius, ...rest);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    if (isOverlay(this) && last && /^\d+ · /.test(text)) marks[text] = last;
    fillText.call(this, text, ...rest);
  };
  const textOf = (selector: string) => document.querySelector(selector)?.textContent ?? "";
  const keep = () => {
    const table = document.getElementById("neighbors") as HTMLTableElement | null;
    if (!table) return;
    samples.push({
      tick: Number(table.dataset["tick"]),
      rows: [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")].map(({ cells }) => ({
        name: cells[1].textContent ?? "",
        distance: cells[2].textContent ?? "",
      })),
      centre,
      marks,
      status: textOf(".status"),
      recording: textOf("section.recording output"),
      isApart: textOf("section.panel").includes("The map shows another tick"),
    });
  };
  document.addEventListener("DOMContentLoaded", () => {
    const changes = new MutationObserver(keep);
    changes.observe(document.body, { subtree: true, attributeFilter: ["data-draws"] });
  });
}

function metresOf(text: string): number {
  const [, number, unit] = /^([\d.]+) (k?m)$/.exec(text) ?? [];
  return Number(number) * (unit === "km" ? 1000 : 1);
}

/** Throws if the map and the table contradict each other. At a zoom of 0, a pixel is a metre. */
function check({ tick, rows, centre, marks, status, recording, isApart }: Sample): void {
  const hasFrame = !status.includes("waiting for positions");
  if (!hasFrame || isApart) return assert.deepEqual(marks, {});
  if (!centre?.isOnMap) return;
  assert.ok(centre.hasDot, `tick ${tick}: the chosen object is drawn under its ring`);
  const labels = rows.map(({ name }, i) => `${i + 1} · ${name}`);
  for (const label of Object.keys(marks)) assert.ok(labels.includes(label), `${label} is a row`);
  rows.forEach(({ distance }, i) => {
    const mark = marks[labels[i]];
    if (!mark?.isOnMap) return;
    const drawn = Math.hypot(mark.x - centre.x, mark.y - centre.y);
    const listed = metresOf(distance);
    const what = `tick ${tick}, ${labels[i]}: drawn at ${drawn} m, listed at ${distance}`;
    assert.ok(Math.abs(drawn - listed) < TOLERANCE_M, what);
    assert.ok(mark.hasDot, `${what}, and no object is under its ring`);
  });
  assert.match(status, new RegExp(`tick ${tick.toLocaleString("en")} `));
  assert.ok(status.includes(recording), `one clock: "${status}" and "${recording}"`);
}

async function nextTick(page: Page): Promise<void> {
  const text = () => page.locator(".status").textContent();
  await until(async () => / tick /.test((await text()) ?? ""), "the page had positions");
  const before = await text();
  await until(async () => (await text()) !== before, "it ticked");
}

async function samplesOf(page: Page): Promise<Sample[]> {
  const samples = () => page.evaluate(() => (globalThis as any).samples as Sample[]);
  const ticks = async () => new Set((await samples()).map(({ tick }) => tick)).size;
  await until(async () => (await ticks()) > TICKS_MIN, "lists of several ticks were shown");
  return samples();
}

const why = executable === null || !existsSync(program) ? "no browser or no program" : undefined;
test("distances on the map are those of the table at 20 × speed", { skip: why }, async () => {
  const address = `http://127.0.0.1:${await freePort()}/`;
  const flags = ["--http", new URL(address).host, "--speed", "20"];
  const browser = await launch(executable!);
  // The recording lasts 30 seconds.
  const view = spawn(program, ["view", trace, ...flags], { stdio: "ignore" });
  try {
    const nearest = async () => {
      const answer = await fetch(`${address}v1/neighbors?x=600&y=600&k=40`);
      return ((await answer.json()) as { neighbors: { id: string }[] }).neighbors;
    };
    await until(async () => (await nearest()).length === 40, "there were objects");
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.addInitScript(watch);
    await page.goto(`${address}#at=600,600&zoom=0`);
    // The first positions may be newer than their tick (position_feed.hpp).
    for (let ticks = 0; ticks < 3; ++ticks) await nextTick(page);
    for (const rank of [0, 39]) {
      const { id } = (await nearest())[rank];
      await page.evaluate((hash) => {
        (globalThis as any).samples.length = 0;
        location.hash = hash;
      }, `#at=600,600&zoom=0&object=${id}&k=${K}`);
      const samples = await samplesOf(page);
      for (const sample of samples) check(sample);
      const drawn = samples.filter(({ marks }) => Object.keys(marks).length > K / 2);
      assert.ok(drawn.length > TICKS_MIN / 2, `${drawn.length} of ${samples.length} have ranks`);
    }
  } finally {
    await browser.close();
    view.kill("SIGKILL");
  }
});
