// SPDX-License-Identifier: Apache-2.0
// Asks the server for a rectangle a little larger than the screen shows, so that panning does not
// wait. Asks again only if the screen leaves this rectangle, or shows a much smaller part of it.
import { contains } from "../world/quantise";
import type { Rectangle, World } from "../world/types";

const ASK_EVERY_MS = 150;
/** If the screen shows less than this part of the width asked for, positions are too coarse. */
const WIDTH_SHARE_MIN = 0.5;

export class ViewAsker {
  private asked: Rectangle | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly world: World) {}

  /**
   * Asks after ASK_EVERY_MS. `rectangle` then returns what the screen shows, with a margin in parts
   * of its size.
   */
  askSoon(rectangle: (margin: number) => Rectangle): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      const screen = rectangle(0);
      if (this.asked && this.isFine(this.asked, screen)) return;
      this.asked = rectangle(0.2);
      this.world.setView(this.asked);
    }, ASK_EVERY_MS);
  }

  private isFine(asked: Rectangle, screen: Rectangle): boolean {
    const share = (screen.xMax - screen.xMin) / (asked.xMax - asked.xMin);
    return share > WIDTH_SHARE_MIN && contains(asked, screen);
  }
}
