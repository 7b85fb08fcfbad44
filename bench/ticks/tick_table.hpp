// SPDX-License-Identifier: Apache-2.0
// `starling bench tick`: runs workloads and prints their figures as a table or as JSON. Called by
// apps/bench.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

struct BenchOptions {
  std::vector<std::string> workloads;  ///< names; empty: all of workloads()
  EngineFactory make_engine;
  unsigned threads = 1;     ///< number of threads that convert and stage updates
  std::string engine_name;  ///< the name that the heading shows
  std::vector<NamedPeer> peers{};
  bool json = false;
  int ticks = 0;
};

/// Returns the meaning of each column and JSON field, for --help.
std::string figures_help();

/// Throws std::invalid_argument if a workload is unknown.
void run_bench(const BenchOptions& options, std::ostream& out);

}  // namespace starling::bench
