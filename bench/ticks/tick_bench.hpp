// SPDX-License-Identifier: Apache-2.0
// Measures ticks of one workload on one engine. On request a peer computes each tick too, directly
// after the engine. Called by tick_table.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "starling/bench/ticks/workload.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::bench {

using EngineFactory = std::function<std::unique_ptr<Engine>(Space)>;

struct TickBenchOptions {
  WorkloadOptions workload;
  EngineFactory make_engine;
  bool with_nanoflann = false;  ///< planar2 workloads only
  int ticks = 0;                ///< 0: the workload's own
};

/// With fewer ticks, the 99th percentile is the slowest tick.
inline constexpr int p99_ticks_min = 100;

/// Medians over the measured ticks, except p99_ms. No figure includes the time to make the rows.
struct TickFigures {
  std::string workload;
  int ticks = 0;
  double lattice_ms = 0;  ///< converting positions to the lattice
  double stage_ms = 0;    ///< finding slots of ids, event-time rules, staging rows
  double stage_ns_per_update = 0;
  double copy_in_ms = 0;  ///< see StageTimes for this and copy_out_ms
  double build_ms = 0;
  double search_ms = 0;
  double diff_ms = 0;
  double copy_out_ms = 0;
  double total_ms = 0;          ///< lattice_ms + stage_ms + host time until the report is complete
  double p99_ms = 0;            ///< of total_ms; with fewer than p99_ticks_min ticks, the slowest
  double bytes_per_object = 0;  ///< table, snapshot and one index
  double bytes_per_object_all = 0;  ///< also the index that the next tick is built into
  bool has_peer = false;
  std::uint64_t lists_compared = 0;  ///< with the peer's, over all ticks
  double peer_ms = 0;
  double ratio = 0;  ///< median of (build + search + diff) / peer, tick by tick
};

/// Throws std::runtime_error if the peer's distances differ from ours.
TickFigures run_tick_bench(const TickBenchOptions& options);

}  // namespace starling::bench
