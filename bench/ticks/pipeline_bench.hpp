// Measures an engine alone, from rows that lie ready in its staging memory to reported lists in
// host memory: one tick at a time, and each as soon as the engine takes it.
#pragma once

#include <cstdint>
#include <string>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

struct PipelineBenchOptions {
  WorkloadOptions workload;  ///< with fixed queries, all objects moving
  EngineFactory make_engine;
  int ticks = 0;  ///< at least so many of either kind; 0: the workload's own
};

/// Medians over the measured ticks, but for latency_p99_us.
struct PipelineFigures {
  std::string workload{};
  int ticks = 0;  ///< measured, of either kind
  double latency_p50_us = 0;
  double latency_p99_us = 0;
  double period_us = 0;
  // Of the ticks one at a time; see StageTimes.
  double copy_in_us = 0;
  double device_us = 0;  ///< build, search and diff
  double copy_out_us = 0;
  double bytes_in = 0;   ///< of a tick's rows
  double bytes_out = 0;  ///< of its lists, neighbours and states

  double copy_in_gb_per_s() const;  ///< 0 where nothing is copied
  double copy_out_gb_per_s() const;
  /// The period by the longest of copy in, device and copy out.
  double period_ratio() const;
  /// The median latency by the sum of the three.
  double latency_ratio() const;
  /// 1 - (period - longest) / (sum - longest) of the three, from 0 to 1; without copies 1.
  double hidden_share() const;
};

/// Throws std::runtime_error if a tick fails.
PipelineFigures run_pipeline_bench(const PipelineBenchOptions& options);

}  // namespace starling::bench
