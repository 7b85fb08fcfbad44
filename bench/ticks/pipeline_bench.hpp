// SPDX-License-Identifier: Apache-2.0
// Measures an engine alone, from rows in its staging memory to reported lists in host memory: first
// one tick at a time, then each tick as soon as the engine accepts it. Called by
// pipeline_table.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

struct PipelineBenchOptions {
  WorkloadOptions workload;  ///< its queries stay in place, and all objects move
  EngineFactory make_engine;
  int ticks = 0;  ///< at least this many ticks of each kind; 0: the workload's number
};

/// Medians over the measured ticks, except latency_p99_us.
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
  /// The period divided by the longest of copy in, device and copy out.
  double period_ratio() const;
  /// The median latency divided by the sum of copy in, device and copy out.
  double latency_ratio() const;
  /// The share of the two shorter of copy in, device and copy out that overlaps the longest:
  /// 1 - (period - longest) / (sum - longest), from 0 to 1; 1 if nothing is copied.
  double hidden_share() const;
};

/// Throws std::runtime_error if a tick fails.
PipelineFigures run_pipeline_bench(const PipelineBenchOptions& options);

}  // namespace starling::bench
