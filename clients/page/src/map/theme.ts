// SPDX-License-Identifier: Apache-2.0
// The map's colours, read from the styles: colours.css has them for light and for dark.
import type { Colours } from "./splat";

export interface Theme {
  sea: string;
  land: string;
  coast: string;
  grid: string;
  road: string;
  gridText: string;
  link: string;
  linkPast: string;
  accent: string;
  text: string;
  halo: string;
  tags: string[];
  colours: Colours;
}

/** One for objects without tags, and eight that the tag bits share. */
export const TAG_COLOURS = 9;
const COUNT_SHADES = 64;

/** Packs "#rrggbb" as a little-endian ImageData has it. */
export function packColour(text: string, alpha = 255): number {
  const value = parseInt(text.trim().slice(1), 16);
  const [red, green, blue] = [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function mix(from: string, to: string, part: number): number {
  const [a, b] = [packColour(from), packColour(to)];
  let mixed = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const byte = ((a >>> shift) & 255) * (1 - part) + ((b >>> shift) & 255) * part;
    mixed = (mixed | (Math.round(byte) << shift)) >>> 0;
  }
  return mixed;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const tags = Array.from({ length: TAG_COLOURS }, (_, i) => of(`tag-${i}`));
  const [low, high] = [of("count-low"), of("count-high")];
  return {
    sea: of("sea"),
    land: of("land"),
    coast: of("coast"),
    grid: of("grid"),
    road: of("road"),
    gridText: of("grid-text"),
    link: of("link"),
    linkPast: of("link-past"),
    accent: of("accent"),
    text: of("text"),
    halo: of("halo"),
    tags,
    colours: {
      ofTags: Uint32Array.from(tags, (colour) => packColour(colour)),
      ofCounts: Uint32Array.from({ length: COUNT_SHADES }, (_, i) =>
        mix(low, high, i / (COUNT_SHADES - 1)),
      ),
    },
  };
}
