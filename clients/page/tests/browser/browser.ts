// SPDX-License-Identifier: Apache-2.0
// Finds and starts a browser of the machine.
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES = [
  "/usr/lib/chromium/chromium",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

export function findBrowser(): string | null {
  const chosen = process.env["STARLING_BROWSER"];
  return [chosen, ...PLACES].find((place) => place && existsSync(place)) ?? null;
}

export function launch(executablePath: string): Promise<Browser> {
  // Root, as in a container, may not use Chromium's sandbox; the page is our own.
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args: ["--disable-gpu", ...asRoot] });
}
