// The flags by which a trace is named, read and put into order; the same for every command that
// takes one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/traces/row_sorter.hpp"
#include "sim/traces/trace_files.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// As typed; CLI11 fills it.
struct TraceFlags {
  std::vector<std::string> paths;
  sim::TraceOptions trace;  ///< those of its members that are plain flags
  std::string space;
  std::string time_unit;
  std::string utc_offset = "Z";
  std::string from;
  std::string until;
  std::string order = "time";
  sim::SortOptions sort;  ///< those of its members that are plain flags
};

/// What they come to.
struct TracePlan {
  std::vector<std::string> paths;
  sim::TraceOptions trace;
  sim::SortOptions sort;
};

/// Adds them to a command. The flags must outlive it; what they hold is the default. `until_flag`
/// is what the command calls --until.
void add_trace_flags(CLI::App& command, TraceFlags& flags,
                     const std::string& until_flag = "--until");

/// Throws sim::UsageError, naming the flag.
TracePlan plan_trace(const TraceFlags& flags);

/// "FLAG: 'TEXT' is not WANTED", as a sim::UsageError.
[[noreturn]] void refuse_flag(const std::string& flag, const std::string& text,
                              const std::string& wanted);

/// What a command tells of the files that it was left to judge; each line begins with its name.
void print_notes(const char* command, const sim::Trace& trace);

}  // namespace starling::apps
