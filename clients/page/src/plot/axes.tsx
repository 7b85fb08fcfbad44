// SPDX-License-Identifier: Apache-2.0
// The grid and the labels of a plot, and the sizes of the space around it.
import { makeScale, niceStep, tickText, ticks, type Scale } from "./axis";
import { lengthOf, type Range } from "./range";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const PX_PER_X_TICK = 70;
const PX_PER_DIGIT = 6.2;
const SPACE_LEFT = 14;
const SPACE_RIGHT = 12;
const SPACE_TOP = 8;
const SPACE_BELOW = 20;
const LABEL_PX = 15;
const TITLE_PX = 16;

type TickText = (value: number, step: number) => string;

interface AxesProps {
  box: Box;
  x: Range;
  y: Range;
  yStep: number;
  xTitle?: string | undefined;
  xTickText?: TickText | undefined;
  yTickText?: TickText | undefined;
}

/** The space at the left is as wide as the longest label of the y axis. */
export function makeBox(
  width: number,
  height: number,
  yLabels: readonly string[],
  hasXTitle: boolean,
): Box {
  const digits = Math.max(1, ...yLabels.map((label) => label.length));
  return {
    left: SPACE_LEFT + digits * PX_PER_DIGIT,
    right: Math.max(width - SPACE_RIGHT, SPACE_LEFT + digits * PX_PER_DIGIT + 1),
    top: SPACE_TOP,
    bottom: height - SPACE_BELOW - (hasXTitle ? TITLE_PX : 0),
  };
}

export function scalesOf(box: Box, x: Range, y: Range): { x: Scale; y: Scale } {
  return { x: makeScale(x, box.left, box.right), y: makeScale(y, box.bottom, box.top) };
}

/**
 * Returns the attributes of a nested svg inside the axes. Its coordinates are those of the whole
 * plot.
 */
export function innerSize({ left, right, top, bottom }: Box) {
  const [width, height] = [right - left, bottom - top];
  return { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` };
}

export function Axes({ box, x, y, yStep, xTitle, xTickText, yTickText }: AxesProps) {
  const scales = scalesOf(box, x, y);
  const countMax = Math.max(2, Math.floor((box.right - box.left) / PX_PER_X_TICK));
  const xStep = niceStep(lengthOf(x), countMax);
  return (
    <g>
      {ticks(y, yStep).map((value) => (
        <g key={value}>
          <path class="grid" d={`M${box.left} ${scales.y.toPx(value)}H${box.right}`} />
          <text class="end" x={box.left - 6} y={scales.y.toPx(value) + 4}>
            {(yTickText ?? tickText)(value, yStep)}
          </text>
        </g>
      ))}
      {ticks(x, xStep).map((value) => {
        const text = (xTickText ?? tickText)(value, xStep);
        const halfPx = (text.length * PX_PER_DIGIT) / 2 + 1;
        const at = Math.min(scales.x.toPx(value), box.right + SPACE_RIGHT - halfPx);
        return (
          <text key={value} class="middle" x={at} y={box.bottom + LABEL_PX}>
            {text}
          </text>
        );
      })}
      {xTitle && (
        <text class="middle" x={(box.left + box.right) / 2} y={box.bottom + LABEL_PX + TITLE_PX}>
          {xTitle}
        </text>
      )}
    </g>
  );
}
