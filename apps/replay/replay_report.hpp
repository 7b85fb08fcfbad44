// SPDX-License-Identifier: Apache-2.0
// The summary of a finished replay. It goes to stderr, so that `--out -` writes nothing but lists
// to stdout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/sim/data/traces/trace.hpp"
#include "starling/sim/replay/replay.hpp"

namespace starling::apps {

/// A query whose followed object has no row in the trace.
struct NeverSeen {
  std::string query;
  std::string object;
};

struct ReplaySummary {
  std::string source;    ///< the layouts and the space of the trace
  std::string answerer;  ///< the engine or the server that found the lists
  std::uint64_t objects = 0;
  sim::TraceCounts counts;
  sim::ReplayResult result;
  std::uint64_t idle_ticks = 0;  ///< ticks that were not written: no row came, no list changed
  std::vector<NeverSeen> never_seen;
  double elapsed_s = 0;  ///< time of the replay, without the time to read the trace
};

void print_summary(const ReplaySummary& summary);

}  // namespace starling::apps
