// SPDX-License-Identifier: Apache-2.0
// The flags that name a trace and say how it is read and sorted. Every command that reads a trace
// has the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/sim/traces/row_sorter.hpp"
#include "starling/sim/traces/trace_files.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// As typed; CLI11 fills it.
struct TraceFlags {
  std::vector<std::string> paths;
  sim::TraceOptions trace;  ///< only the members that a flag sets directly
  std::string space;
  std::string time_unit;
  std::string utc_offset = "Z";
  std::string from;
  std::string until;
  std::string order = "time";
  sim::SortOptions sort;  ///< only the members that a flag sets directly
};

/// The flags, checked and converted.
struct TracePlan {
  std::vector<std::string> paths;
  sim::TraceOptions trace;
  sim::SortOptions sort;
};

/// Adds the flags to a command. `flags` holds the defaults and must outlive the command.
void add_trace_flags(CLI::App& command, TraceFlags& flags);

/// Throws sim::UsageError that names the wrong flag.
TracePlan plan_trace(const TraceFlags& flags);

/// Throws sim::UsageError "FLAG: 'TEXT' is not WANTED".
[[noreturn]] void refuse_flag(const std::string& flag, const std::string& text,
                              const std::string& wanted);

/// Prints to stderr the layout that was recognised, for files whose layout no flag gives. Each line
/// begins with the name of the command.
void print_notes(const char* command, const sim::Trace& trace);

}  // namespace starling::apps
