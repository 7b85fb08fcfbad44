// SPDX-License-Identifier: Apache-2.0
// Draws the lines, rings and labels of the overlay.
import type { Theme } from "./theme";

export type Pixel = [number, number];

/** Takes positions in the canvas's pixels, and widths and radii in CSS pixels. */
export class Pen {
  private readonly labels: { x: number; y: number; width: number; height: number }[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly pixelRatio: number,
    private readonly theme: Theme,
  ) {
    context.font = `600 ${12 * pixelRatio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
  }

  line(from: Pixel, to: Pixel, colour: string, width: number, dash: number[]): void {
    const { context, pixelRatio } = this;
    context.setLineDash(dash.map((length) => length * pixelRatio));
    context.strokeStyle = colour;
    context.lineWidth = width * pixelRatio;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
  }

  diamond(at: Pixel, radius: number, colour: string): void {
    const { context, pixelRatio } = this;
    const reach = radius * pixelRatio;
    context.strokeStyle = colour;
    context.lineWidth = 2 * pixelRatio;
    context.beginPath();
    context.moveTo(at[0], at[1] - reach);
    context.lineTo(at[0] + reach, at[1]);
    context.lineTo(at[0], at[1] + reach);
    context.lineTo(at[0] - reach, at[1]);
    context.closePath();
    context.stroke();
  }

  ring(at: Pixel, radius: number, colour: string, width = 2): void {
    const { context, pixelRatio } = this;
    context.strokeStyle = colour;
    context.lineWidth = width * pixelRatio;
    context.beginPath();
    context.arc(at[0], at[1], radius * pixelRatio, 0, 2 * Math.PI);
    context.stroke();
  }

  /** Writes beside a ring, unless an earlier label is there. Write the important labels first. */
  label(at: Pixel, text: string): void {
    const { context, pixelRatio, theme } = this;
    const [x, y] = [at[0] + 13 * pixelRatio, at[1]];
    const box = { x, y, width: context.measureText(text).width, height: 15 * pixelRatio };
    const isTaken = this.labels.some(
      (other) =>
        box.x < other.x + other.width &&
        other.x < box.x + box.width &&
        Math.abs(box.y - other.y) < box.height,
    );
    if (isTaken) return;
    this.labels.push(box);
    context.strokeStyle = theme.halo;
    context.lineWidth = 4 * pixelRatio;
    context.strokeText(text, x, y);
    context.fillStyle = theme.text;
    context.fillText(text, x, y);
  }
}
