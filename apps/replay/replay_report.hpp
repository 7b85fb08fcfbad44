// What a replay tells the person who started it: a progress line while it runs, on a terminal only,
// and a summary when it is done. Both on stderr, so that --out - stays clean.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/replay/replay.hpp"
#include "sim/traces/trace.hpp"

namespace starling::apps {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Draws at most ten times a second. `total` 0: unknown.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total,
            std::string_view unit = "rows");
  void clear();

 private:
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point due_;
};

struct ReplaySummary {
  std::string source;    ///< layouts and space
  std::string answerer;  ///< which engine
  std::uint64_t objects = 0;
  sim::TraceCounts counts;
  sim::ReplayResult result;
  double elapsed_s = 0;  ///< of the replay, reading left out
};

/// How many rows were skipped, and by reason.
std::string describe_skipped(const sim::TraceCounts& counts);

void print_summary(const ReplaySummary& summary);

}  // namespace starling::apps
