// SPDX-License-Identifier: Apache-2.0
// Measures ticks of one workload on one engine. If the options have peers, each peer answers the
// queries of each tick too, directly after the engine. Called by tick_table.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/bench/ticks/peer.hpp"
#include "starling/bench/ticks/workload.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::bench {

using EngineFactory = std::function<std::unique_ptr<Engine>(Space)>;

/// A peer's name in tables, and how it is made.
struct NamedPeer {
  std::string name;
  std::function<std::unique_ptr<Peer>()> make;
};

struct TickBenchOptions {
  WorkloadOptions workload;
  EngineFactory make_engine;
  std::vector<NamedPeer> peers{};  ///< used for workloads with has_peer only
  int ticks = 0;                   ///< 0: the workload's own
  unsigned threads = 1;            ///< number of threads that convert and stage updates
};

/// Medians over the measured ticks.
struct PeerFigures {
  std::string name;
  double ms = 0;
  double ratio = 0;                  ///< the engine's (build + search + diff) / the peer's ms
  std::uint64_t lists_compared = 0;  ///< lists compared with the peer's, in all ticks
};

/// With fewer ticks than this, the 99th percentile is the slowest tick.
inline constexpr int p99_ticks_min = 100;

/// Medians over the measured ticks, except p99_ms. No figure includes the time to make the rows.
struct TickFigures {
  std::string workload;
  int ticks = 0;
  double lattice_ms = 0;  ///< converting positions to the lattice
  double stage_ms = 0;    ///< mapping ids to slots, event-time rules, staging rows
  double stage_ns_per_update = 0;
  double copy_in_ms = 0;  ///< see StageTimes for this and copy_out_ms
  double build_ms = 0;
  double search_ms = 0;
  double diff_ms = 0;
  double copy_out_ms = 0;
  double total_ms = 0;  ///< lattice_ms + stage_ms + host time until the report is complete
  /// 99th percentile of total_ms; with fewer than p99_ticks_min ticks, the slowest.
  double p99_ms = 0;
  double bytes_per_object = 0;      ///< memory of the table, the snapshot and one index
  double bytes_per_object_all = 0;  ///< bytes_per_object and the index of the next tick
  std::vector<PeerFigures> peers;   ///< empty for a workload without peers
};

/// Throws std::runtime_error if a peer's distances differ from ours.
TickFigures run_tick_bench(const TickBenchOptions& options);

}  // namespace starling::bench
