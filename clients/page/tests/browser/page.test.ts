// SPDX-License-Identifier: Apache-2.0
// Drives the page over a FakeWorld in a headless browser. The tests are skipped without a browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { mercator } from "../../src/map/projection";
import { findBrowser, launch } from "./browser";
import { serveFolder, type FolderServer } from "./folder_server";
import { neighborsAtTick, table, violationsOf, type Answer } from "./questions";

const executable = findBrowser();
if (!executable) console.log("page test skipped: no browser (Debian: apt-get install chromium)");
const skip = executable ? false : "no browser";

let browser: Browser;
let server: FolderServer;

before(async () => {
  if (!executable) return;
  server = await serveFolder(process.env["STARLING_PAGE_DIR"] as string);
  browser = await launch(executable);
});

after(async () => {
  await browser?.close();
  server?.close();
});

interface Opened {
  page: Page;
  /** Errors and warnings of the page, and its requests to other servers. */
  complaints: string[];
}

async function open(query: string, width = 1280, colorScheme: "light" | "dark" = "light") {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const isOwn = request.url().startsWith(server.address) || request.url().startsWith("data:");
    if (!isOwn) complaints.push(`a request to ${request.url()}`);
  });
  await page.goto(`${server.address}${query}`);
  await page.waitForFunction(() => location.hash.includes("zoom"));
  return { page, complaints } satisfies Opened;
}

/** Returns the pixel of a place on a wgs84 map. The link in the address has the map's middle. */
async function pixelOf(page: Page, lon: number, lat: number): Promise<[number, number]> {
  const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [atLon, atLat] = (hash.get("at") ?? "").split(",").map(Number);
  const scale = 2 ** Number(hash.get("zoom"));
  const box = await page.locator("#map").boundingBox();
  assert.ok(box);
  const [x, y] = mercator.toPlane(lon, lat);
  const [middleX, middleY] = mercator.toPlane(atLon, atLat);
  return [
    box.x + box.width / 2 + (x - middleX) * scale,
    box.y + box.height / 2 + (y - middleY) * scale,
  ];
}

async function placeOf(page: Page, id: string): Promise<[number, number]> {
  return page.evaluate(async (wanted) => {
    const found = await (globalThis as any).fakeWorld.object(wanted);
    return [found.x, found.y] as [number, number];
  }, id);
}

async function pointAt(page: Page, id: string): Promise<void> {
  await page.waitForTimeout(700);
  const [x, y] = await pixelOf(page, ...(await placeOf(page, id)));
  await page.mouse.move(x, y);
}

test("objects move", { skip }, async () => {
  const { page, complaints } = await open("?objects=500&tick_ms=100");
  const first = await page.locator("#map").getAttribute("data-draws");
  await page.waitForFunction(
    (before) => Number(document.getElementById("map")?.dataset["draws"]) > Number(before) + 5,
    first,
  );
  assert.deepEqual(complaints, []);
});

test("a click lights exactly the neighbours, and why not is true", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=500&seed=3");
  await pointAt(page, "4");
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForSelector("#neighbors tbody tr");
  const { shown, exact } = await neighborsAtTick(page, "4", 5);
  assert.deepEqual(shown.ids, exact.ids);
  const all: Answer = (await neighborsAtTick(page, "4", 39)).exact;
  const other = all.ids[20];
  await pointAt(page, other);
  await page.waitForFunction(
    () => document.getElementById("why-not")?.textContent?.includes("is number") ?? false,
  );
  const sentence = await page.locator("#why-not").textContent();
  assert.match(
    sentence ?? "",
    new RegExp(`^ship-${other} is number \\d+, at [\\d.]+ k?m; number 5`),
  );
  assert.deepEqual(complaints, []);
});

test("a click on an object that a query follows lists what the query asks", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=500&seed=3");
  await page.waitForTimeout(700); // the page reads the queries after half a second
  await pointAt(page, "9");
  await page.mouse.down();
  await page.mouse.up();
  await page.getByRole("heading", { name: "Query 4 of fake follows ship-9" }).waitFor();
  await page.waitForSelector("#neighbors tbody tr");
  const { shown, exact } = await neighborsAtTick(page, "9", 6);
  assert.deepEqual(shown.ids, exact.ids);
  assert.deepEqual(complaints, []);
});

test("roads lie under the objects of a planar map", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200&space=planar2");
  // The fake world's roads cross at 0, 0.
  await page.evaluate(() => (location.hash = "#at=0,0&zoom=0"));
  await page.reload();
  await page.waitForFunction(() => Number(document.getElementById("map")?.dataset["draws"]) > 5);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector(".map canvas") as HTMLCanvasElement;
    const context = canvas.getContext("2d")!;
    const [x, y] = [Math.round(canvas.width / 2), Math.round(canvas.height / 2)];
    const { data } = context.getImageData(x, y, 1, 41);
    const road = getComputedStyle(document.documentElement).getPropertyValue("--road").trim();
    const value = parseInt(road.slice(1), 16);
    return {
      road: [value >> 16, (value >> 8) & 255, value & 255],
      on: [...data.slice(0, 3)],
      off: [...data.slice(-4, -1)],
    };
  });
  assert.deepEqual(colours.on, colours.road);
  assert.notDeepEqual(colours.off, colours.road);
  assert.deepEqual(complaints, []);
});

test("scrubbing shows an earlier list, and live comes back", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200#object=4&k=3");
  await page.waitForSelector("#neighbors tbody tr");
  await page.waitForTimeout(1500);
  await page.getByRole("button", { name: "Pause" }).click();
  const late = await table(page);
  for (let i = 0; i < 3; ++i) await page.keyboard.press("[");
  await page.waitForFunction(
    (tick) => Number(document.getElementById("neighbors")?.dataset["tick"]) < tick,
    late.tick,
  );
  assert.match(page.url(), /object=4/);
  await page.waitForFunction(() => location.hash.includes("time="));
  await page.getByRole("button", { name: "Live" }).click();
  await page.waitForFunction(
    (tick) => Number(document.getElementById("neighbors")?.dataset["tick"]) > tick,
    late.tick,
  );
  assert.deepEqual(complaints, []);
});

test("a link in the address of an open page is followed", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200#object=4&k=3");
  await page.waitForSelector("#neighbors tbody tr");
  await page.evaluate(() => (location.hash = "#at=5,55&zoom=13&object=7&k=2"));
  await page.getByRole("heading", { name: "ship-7" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("#neighbors tbody tr").length === 2);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.waitForFunction(() => location.hash.includes("time="));
  const paused = new URL(page.url()).hash;
  await page.getByRole("button", { name: "Live" }).click();
  await page.waitForFunction(() => !location.hash.includes("time="));
  await page.evaluate((hash) => (location.hash = hash), paused);
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.evaluate(() => (location.hash = "#at=5,55&zoom=13&time=1"));
  await page.getByText("it shows now").waitFor();
  await page.locator("#neighbors").waitFor({ state: "detached" });
  await page.waitForFunction(() => /^#at=5,55(\.\d+)?&zoom=13\.00$/.test(location.hash));
  assert.deepEqual(complaints, []);
});

test("a server that is gone is named, and its return too", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200");
  await page.evaluate(() => (globalThis as any).fakeWorld.setGone(true));
  await page.getByText("The server does not answer.").waitFor();
  await page.evaluate(() => (globalThis as any).fakeWorld.setGone(false));
  await page.getByText("Live", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a form takes the panels' place while the server wants a token", { skip }, async () => {
  for (const [width, scheme] of [
    [1280, "light"],
    [390, "dark"],
  ] as const) {
    const { page, complaints } = await open("?objects=40&tick_ms=200#object=4&k=3", width, scheme);
    await page.waitForSelector("#neighbors tbody tr");
    await page.evaluate(() => (globalThis as any).fakeWorld.lock("This server has keys."));
    await page.getByText("This server has keys.").waitFor();
    await page.locator("#neighbors").waitFor({ state: "detached" });
    assert.deepEqual(await violationsOf(page), []);
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The server does not know this token.").waitFor();
    assert.equal(await page.getByLabel("Token", { exact: true }).inputValue(), "");
    await page.keyboard.type("right");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#neighbors tbody tr");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "map");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You have logged out.").waitFor();
    assert.deepEqual(complaints, []);
  }
});

test("Enter chooses what is in the middle of the uncovered map", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200#at=-100,10&zoom=13");
  await page.locator("#map").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("place="));
  const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [lon] = (hash.get("place") ?? "").split(",").map(Number);
  const width = await page.locator(".panels").evaluate((panels) => panels.clientWidth);
  assert.ok(lon < -100 - ((width / 2) * 360) / 2 ** 13, `${lon} is left of the map's middle`);
  assert.deepEqual(complaints, []);
});

test("search finds an object by name, and says that no object has the name", { skip }, async () => {
  const { page, complaints } = await open("?objects=40&tick_ms=200");
  await page.keyboard.press("/");
  await page.keyboard.type("ship-17");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ship-17" }).waitFor();
  await page.getByRole("searchbox").or(page.locator("#search")).fill("nobody");
  await page.keyboard.press("Enter");
  await page.getByText("There is no object nobody.").waitFor();
  assert.deepEqual(complaints, []);
});

for (const [width, scheme] of [
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
] as const)
  test(`the page is accessible: ${width} wide, ${scheme}`, { skip }, async () => {
    const { page, complaints } = await open("?objects=40&tick_ms=200#object=4&k=3", width, scheme);
    await page.waitForSelector("#neighbors tbody tr");
    await page.getByRole("button", { name: "Server" }).click();
    assert.deepEqual(await violationsOf(page), []);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} px wider than the screen`);
    assert.deepEqual(complaints, []);
  });
