// `starling bench tick`: runs workloads and writes their figures as a table or as JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/ticks/tick_bench.hpp"

namespace starling::bench {

struct BenchOptions {
  std::vector<std::string> workloads;  ///< names; empty: all
  EngineFactory make_engine;
  std::string engine_name;  ///< for the heading only
  bool with_nanoflann = false;
  bool json = false;
  int ticks = 0;
};

/// What each column and JSON field says, for --help.
std::string figures_help();

/// True if this build has the peer.
bool has_nanoflann();

/// Throws std::invalid_argument naming an unknown workload.
void run_bench(const BenchOptions& options, std::ostream& out);

}  // namespace starling::bench
