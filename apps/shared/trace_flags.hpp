// SPDX-License-Identifier: Apache-2.0
// The flags that name a trace and say how the trace is read and sorted. Every command that reads a
// trace has these flags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/sim/data/traces/row_sorter.hpp"
#include "starling/sim/data/traces/trace_files.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct.
struct TraceFlags {
  std::vector<std::string> paths;
  sim::TraceOptions trace;  ///< only the members whose flags need no conversion
  std::string space;
  std::string time_unit;
  std::string date_order;
  std::string utc_offset = "Z";
  std::string from;
  std::string until;
  std::string order = "time";
  sim::SortOptions sort;  ///< only the members whose flags need no conversion
  bool explain = false;
};

/// The flags, checked and converted.
struct TracePlan {
  std::vector<std::string> paths;
  sim::TraceOptions trace;
  sim::SortOptions sort;
  bool explain = false;  ///< call explain_trace(), and do nothing else
};

/// Adds the flags to a command. `flags` holds the defaults and must outlive the command.
void add_trace_flags(CLI::App& command, TraceFlags& flags);

void add_explain_flag(CLI::App& command, TraceFlags& flags);

/// Prints to the standard output how each file of the trace is read, and its first three parsed
/// rows.
void explain_trace(const sim::Trace& trace);

/// Checks and converts the flags. If a flag is wrong, throws a sim::UsageError that names this
/// flag.
TracePlan plan_trace(const TraceFlags& flags);

/// Parses a flag that is a time of the trace, such as --from. Throws a sim::UsageError that names
/// the flag if `text` is not a time.
std::int64_t trace_time_us(const std::string& flag, const std::string& text,
                           const sim::TraceOptions& options);

/// Throws sim::UsageError "FLAG: 'TEXT' is not WANTED".
[[noreturn]] void refuse_flag(const std::string& flag, const std::string& text,
                              const std::string& wanted);

/// Prints to stderr the layouts that were recognised because no flag gives them. Each line begins
/// with the name of the command.
void print_notes(const char* command, const sim::Trace& trace);

}  // namespace starling::apps
