// SPDX-License-Identifier: Apache-2.0
// The counters that a server would have after `tick` ticks, for FakeWorld.
const STAGE_MS: Record<string, number> = {
  build: 0.9,
  search: 2.4,
  diff: 0.4,
  report: 0.3,
  encode: 0.2,
  publish: 0.5,
  total: 4.9,
};

export function fakeStats(tick: number, objectCount: number): Map<string, number> {
  const stats = new Map<string, number>([
    ["starling_ticks_total", tick],
    ["starling_objects", objectCount],
    ["starling_queries", 250],
    ["starling_sessions", 3],
    ["starling_subscriptions", 2],
    ["starling_streams", 1],
    ["starling_tick_overruns_total", 0],
    ["starling_ticks_failed_total", 0],
    ["starling_subscriber_lost_ticks_total", 0],
    ['starling_rows_total{outcome="accepted"}', tick * objectCount],
    ['starling_rows_total{outcome="late"}', tick * 2],
    ['starling_limit{name="objects-max"}', objectCount * 1.05],
    ['starling_limit_used{name="objects-max"}', objectCount],
    ['starling_limit{name="sessions-max"}', 1024],
    ['starling_limit_used{name="sessions-max"}', 3],
  ]);
  for (const [stage, ms] of Object.entries(STAGE_MS)) {
    const wave = 1 + 0.2 * Math.sin(tick / 40);
    stats.set(`starling_tick_stage_seconds_sum{stage="${stage}"}`, (tick * ms * wave) / 1000);
    stats.set(`starling_tick_stage_seconds_count{stage="${stage}"}`, tick);
  }
  return stats;
}
