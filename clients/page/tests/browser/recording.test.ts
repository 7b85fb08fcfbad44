// SPDX-License-Identifier: Apache-2.0
// Drives the page that `starling view` serves, while its server plays a recording.
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
const network = process.env["STARLING_NETWORK"] ?? "";

interface State {
  time_us: number;
  begin_us: number;
  speed: number;
  paused: boolean;
}

async function play(page: Page, address: string): Promise<void> {
  const state = async () => (await (await fetch(`${address}v1/playback`)).json()) as State;
  const panel = page.getByRole("region", { name: "Recording" });
  await panel.getByRole("button", { name: "Hold" }).click();
  await until(async () => (await state()).paused, "the recording was held");
  await page.getByText("Held", { exact: true }).waitFor();
  const moment = panel.getByLabel("Moment of the recording");
  await moment.evaluate((input: HTMLInputElement) => {
    input.value = "90";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForResponse(`${address}v1/playback`);
  await page.waitForResponse(`${address}v1/playback`);
  assert.equal(await moment.inputValue(), "90", "the thumb stays where it is dragged to");
  await moment.fill("120");
  const seconds = async () => ((await state()).time_us - (await state()).begin_us) / 1e6;
  await until(async () => (await seconds()) === 120, "the recording was moved");
  await panel.getByLabel("Speed").selectOption("60");
  await until(async () => (await state()).speed === 60, "the speed was 60");
  await panel.getByRole("button", { name: "Play" }).click();
  await until(async () => (await seconds()) > 150, "the recording was played");
  await moment.fill("10");
  await until(async () => (await seconds()) < 120, "the recording was moved back");
  await page.getByText("Playing", { exact: true }).waitFor();
}

const why = executable === null || !existsSync(program) ? "no browser or no program" : undefined;
test("a recording is held, moved, sped up and played", { skip: why }, async () => {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/`;
  const flags = ["--http", `127.0.0.1:${port}`, "--page-network", network];
  const view = spawn(program, ["view", trace, ...flags], { stdio: "ignore" });
  const browser = await launch(executable!);
  try {
    await until(async () => (await fetch(address)).ok, "the server gave the page");
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const foreign: string[] = [];
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith("http://127.0.0.1:") && !url.startsWith("data:")) foreign.push(url);
    });
    const roads = page.waitForResponse(`${address}v1/network`);
    await page.goto(address);
    const { lines } = (await (await roads).json()) as { lines: number[][] };
    assert.ok(lines.length > 0, "the page asks for the roads");
    await play(page, address);
    assert.deepEqual(foreign, []);
  } finally {
    await browser.close();
    view.kill("SIGKILL");
  }
});
