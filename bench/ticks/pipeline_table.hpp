// SPDX-License-Identifier: Apache-2.0
// `starling bench pipeline`: runs its workloads and prints their figures as a table or as JSON.
// Called by apps/bench.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/ticks/pipeline_bench.hpp"

namespace starling::bench {

struct PipelineTableOptions {
  std::vector<std::string> workloads;  ///< names; empty: all of pipeline_workloads()
  EngineFactory make_engine;
  std::string engine_name;  ///< the name that the heading shows
  bool json = false;
  int ticks = 0;
};

/// Returns the meaning of each column and JSON field, for --help.
std::string pipeline_figures_help();

/// Throws std::invalid_argument if a workload is unknown.
void write_pipeline_table(const PipelineTableOptions& options, std::ostream& out);

}  // namespace starling::bench
