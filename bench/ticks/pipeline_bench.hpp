// SPDX-License-Identifier: Apache-2.0
// Measures an engine alone, from rows in its staging memory to reported lists in host memory. Two
// kinds of ticks are measured: ticks that run one at a time, and ticks that overlap because each
// begins as soon as the engine accepts it. Called by pipeline_table.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

struct PipelineBenchOptions {
  WorkloadOptions workload;  ///< its queries do not move, and all its objects move
  EngineFactory make_engine;
  int ticks = 0;  ///< at least this many ticks of each kind; 0: the workload's number
};

/// Medians over the measured ticks, except latency_p99_us. The latency is from begin_tick to the
/// result, one tick at a time. The period is from one result to the next when ticks overlap.
struct PipelineFigures {
  std::string workload{};
  int ticks = 0;  ///< measured ticks of each kind
  double latency_p50_us = 0;
  double latency_p99_us = 0;
  double period_us = 0;
  // From the ticks that run one at a time; see StageTimes.
  double copy_in_us = 0;
  double device_us = 0;  ///< build, search and diff
  double copy_out_us = 0;
  double bytes_in = 0;   ///< size of a tick's rows
  double bytes_out = 0;  ///< size of a tick's lists, neighbours and states

  double copy_in_gb_per_s() const;  ///< 0 if nothing is copied
  double copy_out_gb_per_s() const;
  /// Returns the period divided by the longest of copy in, device and copy out.
  double period_ratio() const;
  /// Returns the median latency divided by the sum of copy in, device and copy out.
  double latency_ratio() const;
  /// Copy in, device and copy out are three times. Returns the share of the two shorter times that
  /// overlaps the longest: 1 - (period - longest) / (sum of the three times - longest), clamped to
  /// [0, 1]. Returns 1 if nothing is copied.
  double hidden_share() const;
};

/// Throws std::runtime_error if a tick fails.
PipelineFigures run_pipeline_bench(const PipelineBenchOptions& options);

}  // namespace starling::bench
