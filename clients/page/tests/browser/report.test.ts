// SPDX-License-Identifier: Apache-2.0
// Opens the report.html of a real simulation as a file, and compares its numbers with the run's
// other files. The tests are skipped without a browser.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { findBrowser, launch } from "./browser";
import { violationsOf } from "./questions";

const executable = findBrowser();
const program = process.env["STARLING_PROGRAM"] ?? "";
const skip = executable && existsSync(program) ? false : "no browser or no program";
const FIRST_BUCKET = 5;

type Row = Record<string, string>;

let browser: Browser;
let work = "";

function simulate(...flags: string[]): void {
  const done = spawnSync(program, ["simulate", ...flags], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
}

before(async () => {
  if (skip) return;
  work = mkdtempSync(join(tmpdir(), "starling-report-"));
  const city = ["--drivers", "60", "--rate", "1500", "--side-km", "5", "--for", "30m"];
  for (const policy of ["nearest", "batch"])
    simulate(...city, "--engine", "cpu", "--policy", policy, "--out", join(work, policy));
  simulate("--compare", join(work, "nearest"), join(work, "batch"), "--out", join(work, "both"));
  browser = await launch(executable!);
});

after(async () => {
  await browser?.close();
  if (work) rmSync(work, { recursive: true });
});

/** Reads a CSV file of the run. Its fields must have no quotes. */
function rowsOf(name: string): Row[] {
  const [head, ...lines] = readFileSync(join(work, "batch", name), "utf8").trim().split("\n");
  const names = head.split(",");
  return lines.map((line) =>
    Object.fromEntries(line.split(",").map((value, i) => [names[i], value])),
  );
}

async function open(name: string, width = 1280, colorScheme: "light" | "dark" = "light") {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const address = `file://${join(work, name)}`;
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (request.url() !== address) complaints.push(`a request to ${request.url()}`);
  });
  await page.goto(address);
  await page.waitForSelector(".plot-drawing svg");
  return { page, complaints };
}

function plot(page: Page, title: string): Locator {
  return page.locator(".plot", { has: page.getByRole("heading", { name: title }) });
}

function readOut(of: Locator): Promise<string> {
  return of.locator(".read-out").innerText();
}

/** Opens the table of a plot, and returns its rows. */
async function tableOf(of: Locator): Promise<string[][]> {
  await of.locator("summary").click();
  await of.locator("tbody").waitFor();
  return of
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!)));
}

/** The mean wait in seconds of the rides that were asked for in each minute. */
function waitsByMinute(): Map<number, number> {
  const start = Number(rowsOf("periods.csv")[0]["time_us"]);
  const sums = new Map<number, [number, number]>();
  for (const ride of rowsOf("rides.csv")) {
    if (ride["state"] !== "dropped_off") continue;
    const minute = Math.floor((Number(ride["request_time_us"]) - start) / 60e6);
    const [sum, count] = sums.get(minute) ?? [0, 0];
    sums.set(minute, [sum + Number(ride["wait_s"]), count + 1]);
  }
  return new Map([...sums].map(([minute, [sum, count]]) => [minute, sum / count]));
}

/** Returns where a plot's drawing is on the screen. */
async function boxOf(of: Locator) {
  const drawing = of.locator(".plot-drawing");
  await drawing.scrollIntoViewIfNeeded();
  return (await drawing.boundingBox())!;
}

/** Moves the pointer until the read-out shows the wanted place. */
async function pointAt(page: Page, of: Locator, place: string): Promise<string> {
  const box = await boxOf(of);
  for (let x = box.width; x > 0; x -= 3) {
    await page.mouse.move(box.x + x, box.y + box.height / 2);
    const text = await readOut(of);
    if (text.startsWith(`${place}\n`) || text.startsWith(`${place} `)) return text;
  }
  assert.fail(`no place of the plot is ${place}`);
}

const numberIn = (text: string) => Number(text.replaceAll(",", "").match(/-?[\d.]+/)?.[0]);
const last = (text: string) => text.trim().split("\n").at(-1)!;

test("pointing at a line reads the mean that the rides have", { skip }, async () => {
  const { page, complaints } = await open("batch/report.html");
  const waits = plot(page, "Wait until pick-up");
  const expected = waitsByMinute();
  for (const minute of [FIRST_BUCKET, FIRST_BUCKET + 9]) {
    const text = await pointAt(page, waits, `${minute} to ${minute + 1} min`);
    const shown = numberIn(last(text));
    assert.ok(Math.abs(shown - expected.get(minute)!) < 0.06, `${text}: ${expected.get(minute)}`);
  }
  await page.mouse.move(5, 5);
  assert.equal(await readOut(waits), "seconds, mean");
  assert.deepEqual(complaints, []);
});

test("the tables have the numbers of the run's files", { skip }, async () => {
  const { page, complaints } = await open("batch/report.html");
  const waits = await tableOf(plot(page, "Wait until pick-up"));
  const expected = waitsByMinute();
  assert.equal(waits.length, expected.size);
  for (const [place, value] of waits)
    assert.ok(Math.abs(numberIn(value) - expected.get(numberIn(place))!) < 0.06, place);

  const bars = await tableOf(plot(page, "Waits (without"));
  const waitsS = rowsOf("rides.csv")
    .filter((ride) => ride["state"] === "dropped_off")
    .map((ride) => Number(ride["wait_s"]));
  for (const [place, value] of bars) {
    const [low, high] = place.replaceAll(",", "").match(/[\d.]+/g)!.map(Number);
    const inside = waitsS.filter((wait) => wait >= low && wait < high);
    assert.equal(numberIn(value), inside.length, place);
  }

  const start = Number(rowsOf("periods.csv")[0]["time_us"]);
  const states = await tableOf(plot(page, "Utilisation"));
  const periods = rowsOf("periods.csv").filter(
    (period) => Math.floor((Number(period["time_us"]) - start) / 60e6) === FIRST_BUCKET,
  );
  const idle = periods.reduce((sum, period) => sum + Number(period["idle"]), 0);
  const shown = states.find(([place]) => place === `${FIRST_BUCKET} to ${FIRST_BUCKET + 1} min`)!;
  assert.ok(Math.abs(numberIn(shown[3]) - (100 * idle) / (60 * periods.length)) < 0.01);

  const unmet = await tableOf(plot(page, "Unmet demand"));
  const sum = unmet.reduce((total, [, value]) => total + numberIn(value), 0);
  const { results } = JSON.parse(readFileSync(join(work, "batch", "summary.json"), "utf8"));
  assert.equal(sum, results.cancelled);
  assert.deepEqual(complaints, []);
});

const xLabels = (of: Locator) => of.locator("text.middle").allTextContents();

test("a drag zooms, and a double-click or the button shows all again", { skip }, async () => {
  const { page, complaints } = await open("batch/report.html");
  const waits = plot(page, "Wait until pick-up");
  const whole = await xLabels(waits);
  const box = await boxOf(waits);
  const drag = async () => {
    await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 90, { steps: 4 });
    await page.mouse.up();
    await waits.getByRole("button", { name: "Show all" }).waitFor();
  };
  await drag();
  const zoomedTo = (await xLabels(waits)).slice(0, -1).map(Number);
  assert.ok(zoomedTo[0] > 8 && zoomedTo.at(-1)! < 22, `${zoomedTo}`);
  await page.mouse.dblclick(box.x + box.width / 2, box.y + 80);
  assert.deepEqual(await xLabels(waits), whole);
  await drag();
  await waits.getByRole("button", { name: "Show all" }).click();
  assert.deepEqual(await xLabels(waits), whole);

  const map = plot(page, "Unmet demand");
  const squares = await map.locator("rect.unmet").first().getAttribute("width");
  const place = await boxOf(map);
  await page.mouse.move(place.x + 150, place.y + 150);
  await page.mouse.down();
  await page.mouse.move(place.x + 250, place.y + 250, { steps: 4 });
  await page.mouse.up();
  const zoomed = await map.locator("rect.unmet").first().getAttribute("width");
  assert.ok(Number(zoomed) > 2 * Number(squares), `${zoomed} after ${squares}`);
  assert.deepEqual(complaints, []);
});

test("the keyboard reads, zooms and goes back", { skip }, async () => {
  const { page, complaints } = await open("batch/report.html");
  const waits = plot(page, "Wait until pick-up");
  const drawing = waits.getByRole("application");
  const whole = await xLabels(waits);
  await drawing.focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < FIRST_BUCKET; ++i) await page.keyboard.press("ArrowRight");
  const spoken = await waits.locator("output").innerText();
  const minute = numberIn(spoken);
  const expected = waitsByMinute().get(minute)!;
  assert.match(spoken, new RegExp(`^${minute} to ${minute + 1} min: wait [\\d.]+ s$`));
  assert.ok(Math.abs(numberIn(spoken.split(": ")[1]) - expected) < 0.06, spoken);
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  assert.notDeepEqual(await xLabels(waits), whole);
  await page.keyboard.press("End");
  assert.match((await xLabels(waits)).join(" "), /\b(2[5-9]|30)\b/);
  await page.keyboard.press("0");
  assert.deepEqual(await xLabels(waits), whole);

  const map = plot(page, "Unmet demand");
  await map.getByRole("application").focus();
  await page.keyboard.press("ArrowUp");
  assert.match(await map.locator("output").innerText(), /m east, .* m north: \d+ requests?$/);
  assert.deepEqual(complaints, []);
});

test("the switch turns the report dark and light again", { skip }, async () => {
  const { page } = await open("batch/report.html");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  const dark = await background();
  assert.notEqual(dark, light);
  await page.getByRole("button", { name: "Light" }).click();
  assert.equal(await background(), light);
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await background(), light, "the choice stays");
  const { page: other } = await open("batch/report.html", 1280, "dark");
  assert.equal(
    await other.evaluate(() => getComputedStyle(document.body).backgroundColor),
    dark,
  );
  await other.getByRole("button", { name: "Light" }).click();
  assert.equal(
    await other.evaluate(() => getComputedStyle(document.body).backgroundColor),
    light,
  );
});

for (const name of ["batch/report.html", "both/compare.html"])
  for (const [width, scheme] of [
    [1280, "light"],
    [390, "dark"],
  ] as const)
    test(`${name} is accessible: ${width} wide, ${scheme}`, { skip }, async () => {
      const { page, complaints } = await open(name, width, scheme);
      await page.locator("summary").first().click();
      assert.deepEqual(await violationsOf(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `the page is ${overflow} px wider than the screen`);
      assert.deepEqual(complaints, []);
    });

test("a browser that runs no script shows drawings", { skip }, async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`file://${join(work, "batch", "report.html")}`);
  assert.equal(await page.locator(".plots > svg").count(), 8);
});
