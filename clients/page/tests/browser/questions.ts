// SPDX-License-Identifier: Apache-2.0
// Reads the page's table, asks the page's world about the same tick, and lists violations of
// accessibility.
import type { Page } from "playwright-core";

export interface Answer {
  tick: number;
  ids: string[];
}

export function table(page: Page): Promise<Answer> {
  return page.evaluate(() => {
    const element = document.getElementById("neighbors") as HTMLTableElement;
    const rows = [...element.querySelectorAll<HTMLElement>("tbody tr")];
    return {
      tick: Number(element.dataset["tick"]),
      ids: rows.map((row) => row.dataset["id"] as string),
    };
  });
}

/** Asks until the table and the world's answer are of the same tick. */
export async function neighborsAtTick(
  page: Page,
  id: string,
  k: number,
): Promise<{ shown: Answer; exact: Answer }> {
  for (;;) {
    const exact = await page.evaluate(
      async (question) => {
        const list = await (globalThis as any).fakeWorld.neighbors(question);
        return { tick: list.tick, ids: list.neighbors.map((row: { id: string }) => row.id) };
      },
      {
        anchor: { kind: "object", id },
        k,
        filter: { tagsRequired: 0, tagsForbidden: 0, distanceMaxM: 1e12, ageMaxUs: 1e18 },
      },
    );
    const shown = await table(page);
    if (shown.tick === exact.tick) return { shown, exact };
    await page.waitForTimeout(50);
  }
}

/** Returns a line for each rule of accessibility that the page breaks. */
export async function violationsOf(page: Page): Promise<string[]> {
  const { default: axe } = await import("axe-core");
  return page.evaluate(`(() => {
    const module = undefined, exports = undefined, define = undefined;
    ${axe.source};
    return axe.run().then((found) => found.violations.map((one) =>
      one.id + ": " + one.nodes.map((node) => node.html + " " + node.failureSummary).join(" | ")));
  })()`);
}
