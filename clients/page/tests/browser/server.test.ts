// SPDX-License-Identifier: Apache-2.0
// Drives the page of a real server while a recording is replayed into it. The test is skipped
// without a browser, or if the server has no WebSocket.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { planar } from "../../src/map/projection";
import { findBrowser, launch } from "./browser";
import { serveFolder } from "./folder_server";
import { table } from "./questions";
import { freePort, Starling, until } from "./starling";

const K = 5;
const RANKS = 30;
const executable = findBrowser();

interface Row {
  id: string;
  distance_m: number;
}

function nearest(server: Starling, id: string, k: number): Promise<{ neighbors: Row[] }> {
  return server.get(`/v1/neighbors?object=${id}&k=${k}`);
}

/** Returns the pixel of an object. The link in the address has the map's middle and scale. */
async function pixelOf(page: Page, server: Starling, id: string): Promise<[number, number]> {
  const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [atX, atY] = (hash.get("at") ?? "").split(",").map(Number);
  const scale = 2 ** Number(hash.get("zoom"));
  const { x, y } = await server.get(`/v1/objects/${id}`);
  const [planeX, planeY] = planar.toPlane(x - atX, y - atY);
  const box = await page.locator("#map").boundingBox();
  assert.ok(box);
  return [box.x + box.width / 2 + planeX * scale, box.y + box.height / 2 + planeY * scale];
}

async function follow(page: Page, server: Starling): Promise<void> {
  const hasObjects = async () => (await server.get("/v1/stats")).counters.starling_objects > RANKS;
  await until(hasObjects, "there were objects");
  await page.waitForFunction(() => / in view/.test(document.body.innerText));
  await page.keyboard.press("f");
  await page.waitForTimeout(800);
}

/**
 * Returns the object near the middle that is farthest from its neighbours, so that none is drawn
 * over it.
 */
async function loneliest(server: Starling): Promise<string> {
  const { neighbors } = await server.get("/v1/neighbors?k=10&x=600&y=600");
  let best = { id: "", distance_m: -1 };
  for (const { id } of neighbors as Row[]) {
    const [{ distance_m }] = (await nearest(server, id, 1)).neighbors;
    if (distance_m > best.distance_m) best = { id, distance_m };
  }
  return best.id;
}

async function lists(page: Page, server: Starling): Promise<void> {
  server.freeze(true);
  await page.waitForTimeout(800);
  const id = await loneliest(server);
  await page.mouse.click(...(await pixelOf(page, server, id)));
  await page.waitForSelector("#neighbors tbody tr");
  const all = (await nearest(server, id, RANKS)).neighbors;
  const ids = all.slice(0, K).map((row) => row.id);
  await until(async () => (await table(page)).ids.join() === ids.join(), "the list was shown");
  await page.getByRole("heading", { name: id }).waitFor();

  await whyNot(page, server, all);
  server.freeze(false);
}

/**
 * Points at the objects one after another until the page explains one. Some are under a panel or
 * under another object.
 */
async function whyNot(page: Page, server: Starling, all: Row[]): Promise<void> {
  for (let rank = RANKS; rank > K; --rank) {
    const { id, distance_m } = all[rank - 1];
    await page.mouse.move(...(await pixelOf(page, server, id)));
    const sentence = page.getByText(`${id} is number ${rank}, at ${distance_m.toFixed(1)} m`);
    const isTold = sentence.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
    if (await isTold) return;
  }
  assert.fail("why not was told of no object");
}

async function past(page: Page): Promise<void> {
  await page.waitForTimeout(1500);
  await page.getByRole("button", { name: "Pause" }).click();
  const before = await table(page);
  for (let i = 0; i < 4; ++i) await page.keyboard.press("[");
  await until(async () => (await table(page)).tick < before.tick, "an earlier list was shown");
  await page.getByRole("button", { name: "Live" }).click();
  await until(async () => (await table(page)).tick > before.tick, "the page was live again");
}

test("the page of a server", { skip: executable ? false : "no browser" }, async (context) => {
  const [program, trace] = ["STARLING_PROGRAM", "STARLING_TRACE"].map((name) => process.env[name]);
  if (!executable || !program || !trace || !existsSync(program)) return context.skip("no server");
  const server = new Starling(program, trace, await freePort());
  const folder = await serveFolder(process.env["STARLING_BUILT_PAGE"] ?? "", server.httpPort);
  const browser = await launch(executable);
  try {
    await server.start();
    if (!(await server.hasWebSocket())) return context.skip("the server has no WebSocket");
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    let complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(folder.address);
    await follow(page, server);
    await lists(page, server);
    await past(page);
    assert.deepEqual(complaints, []);
    server.stop();
    await page.getByText("The server is gone.").waitFor();
    await server.start();
    await page.getByText("Live", { exact: true }).waitFor();
    await until(async () => (await table(page)).ids.length > 0, "there was a list again");
  } finally {
    await browser.close();
    folder.close();
    server.close();
  }
});
