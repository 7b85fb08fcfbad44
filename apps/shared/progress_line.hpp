// SPDX-License-Identifier: Apache-2.0
// Shows on stderr how far a command is, if stderr is a terminal; and describes the rows that
// reading a trace skipped. The commands that read files use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "starling/sim/traces/trace.hpp"

namespace starling::apps {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Draws at most ten times a second. `total` is 0 if it is unknown; then there is no bar.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total,
            std::string_view unit = "rows");
  void clear();

 private:
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point due_;
};

/// Returns the number of skipped rows and the number for each reason: "3 (2 unparsable, 1 too
/// fast)".
std::string describe_skipped(const sim::TraceCounts& counts);

/// Returns the flag that shows a skipped row, to print after describe_skipped(); empty if no row
/// was skipped.
const char* skipped_hint(const sim::TraceCounts& counts);

/// Returns why no row of a trace is left: the skipped rows and the rows outside the time asked for.
std::string describe_left_out(const sim::TraceCounts& counts);

}  // namespace starling::apps
