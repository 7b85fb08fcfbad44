// SPDX-License-Identifier: Apache-2.0
// The distance that Starling ranks by: the straight line, in wgs84 through the earth. The page
// computes it in doubles for its explanations; the server's answers are exact.
import type { Space } from "./types";

const SEMI_MAJOR_M = 6378137;
const FLATTENING = 1 / 298.257223563;
const ECCENTRICITY_SQ = FLATTENING * (2 - FLATTENING);

export type Point = [number, number, number];

/** Turns longitude, latitude in degrees and altitude in metres into earth-centred metres. */
export function earthCentred([lon, lat, alt]: Point): Point {
  const phi = (lat * Math.PI) / 180;
  const lambda = (lon * Math.PI) / 180;
  const normal = SEMI_MAJOR_M / Math.sqrt(1 - ECCENTRICITY_SQ * Math.sin(phi) ** 2);
  const horizontal = (normal + alt) * Math.cos(phi);
  return [
    horizontal * Math.cos(lambda),
    horizontal * Math.sin(lambda),
    (normal * (1 - ECCENTRICITY_SQ) + alt) * Math.sin(phi),
  ];
}

export function distanceBetween(space: Space, a: Point, b: Point): number {
  const [p, q] = space === "wgs84" ? [earthCentred(a), earthCentred(b)] : [a, b];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}
