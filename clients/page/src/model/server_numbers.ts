// SPDX-License-Identifier: Apache-2.0
// Rates, stage times and limits that are nearly reached, from two readings of /v1/stats.
export interface LimitUse {
  name: string;
  used: number;
  limit: number;
}

export interface ServerNumbers {
  objects: number;
  queries: number;
  streams: number;
  subscriptions: number;
  ticksPerS: number;
  rowsPerS: number;
  /** Rows per second that were not accepted, by their reason. */
  refused: [string, number][];
  /** Mean milliseconds of each stage of a tick since the earlier reading. */
  stagesMs: Record<string, number>;
  lostTicks: number;
  overruns: number;
  failedTicks: number;
  limits: LimitUse[];
}

export const NEAR_THE_END = 0.9;

type Reading = ReadonlyMap<string, number>;

/** Returns the counters of one name by the value of their label. */
function byLabel(reading: Reading, name: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [key, value] of reading)
    if (key.startsWith(`${name}{`)) found.set(key.slice(key.indexOf('"') + 1, -2), value);
  return found;
}

export function limitsNearTheirEnd(reading: Reading): LimitUse[] {
  const limits = byLabel(reading, "starling_limit");
  const near: LimitUse[] = [];
  for (const [name, used] of byLabel(reading, "starling_limit_used")) {
    const limit = limits.get(name) ?? 0;
    if (limit > 0 && used / limit > NEAR_THE_END) near.push({ name, used, limit });
  }
  return near.sort((a, b) => b.used / b.limit - a.used / a.limit);
}

export function stagesBetween(before: Reading, after: Reading): Record<string, number> {
  const sums = byLabel(after, "starling_tick_stage_seconds_sum");
  const counts = byLabel(after, "starling_tick_stage_seconds_count");
  const sumsBefore = byLabel(before, "starling_tick_stage_seconds_sum");
  const countsBefore = byLabel(before, "starling_tick_stage_seconds_count");
  const stages: Record<string, number> = {};
  for (const [stage, sum] of sums) {
    const ticks = (counts.get(stage) ?? 0) - (countsBefore.get(stage) ?? 0);
    const seconds = sum - (sumsBefore.get(stage) ?? 0);
    stages[stage] = ticks > 0 ? (1000 * seconds) / ticks : 0;
  }
  return stages;
}

export function serverNumbers(before: Reading, after: Reading, seconds: number): ServerNumbers {
  const of = (name: string) => after.get(name) ?? 0;
  const rate = (name: string) => Math.max(0, of(name) - (before.get(name) ?? 0)) / seconds;
  const refused: [string, number][] = [];
  for (const outcome of byLabel(after, "starling_rows_total").keys()) {
    const perS = rate(`starling_rows_total{outcome="${outcome}"}`);
    if (outcome !== "accepted" && perS > 0) refused.push([outcome, perS]);
  }
  return {
    objects: of("starling_objects"),
    queries: of("starling_queries"),
    streams: of("starling_streams"),
    subscriptions: of("starling_subscriptions"),
    ticksPerS: rate("starling_ticks_total"),
    rowsPerS: rate('starling_rows_total{outcome="accepted"}'),
    refused,
    stagesMs: stagesBetween(before, after),
    lostTicks: of("starling_subscriber_lost_ticks_total"),
    overruns: of("starling_tick_overruns_total"),
    failedTicks: of("starling_ticks_failed_total"),
    limits: limitsNearTheirEnd(after),
  };
}
