// SPDX-License-Identifier: Apache-2.0
// Shows a command's progress on stderr if stderr is a terminal, or writes it for another program.
// Also describes the rows of a trace that were skipped. Used by the commands that read files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "starling/sim/data/traces/trace.hpp"

namespace starling::apps {

class ProgressLine {
 public:
  /// If `lines_to` is a descriptor, show() writes lines such as "reading 4096 0" to it instead:
  /// what, done and total.
  explicit ProgressLine(std::optional<int> lines_to = std::nullopt);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Draws or writes the line at most ten times a second. `total` 0 means that the total is not
  /// known; the line then has no bar.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total,
            std::string_view unit = "rows");
  void clear();

 private:
  std::optional<int> lines_to_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point due_;
};

/// Returns the number of skipped rows and the number for each reason: "3 (2 unparsable, 1 too
/// fast)".
std::string describe_skipped(const sim::TraceCounts& counts);

/// Returns the advice to use --strict, to print after describe_skipped(). Returns an empty text if
/// no row was skipped.
const char* skipped_hint(const sim::TraceCounts& counts);

/// Prints to stderr the first skipped row of each reason: its place, its text and what is wrong.
/// Also warns of times that are probably misread. Each line begins with the name of the command.
void print_first_skipped(const char* command, const sim::TraceCounts& counts);

/// Returns why no row of a trace is left: the skipped rows and the rows outside --from and --until.
std::string describe_left_out(const sim::TraceCounts& counts);

}  // namespace starling::apps
