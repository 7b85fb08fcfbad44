// SPDX-License-Identifier: Apache-2.0
// What the log says of ticks that were skipped: at most one sentence in ten seconds, with the stage
// that took the time. Ticker tells it of every tick.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/knn/engine/tick_result.hpp"

namespace starling::stream {

class OverrunLog {
 public:
  explicit OverrunLog(std::int64_t period_us) : period_us_(period_us) {}

  /// Tells that ticks were due: one that begins now, if `begins`, and those that are skipped.
  void due(bool begins, std::uint64_t skipped) {
    due_ += skipped + (begins ? 1 : 0);
    skipped_ += skipped;
  }
  /// Tells the times of a finished tick; `total_ms` is the time from its begin to its result.
  void finished(const StageTimes& times, double total_ms);
  /// Tells how long the messages of a finished tick were encoded.
  void encoded(double ms);

  /// Returns the sentence to log now, if ticks were skipped and none was logged in the last ten
  /// seconds. It covers the time since the last sentence.
  std::optional<std::string> sentence(std::int64_t now_us);

 private:
  struct Stage {
    const char* name = "";
    double ms = 0;
  };

  void keep_slowest(double total_ms, const Stage& stage);

  std::int64_t period_us_;
  std::optional<std::int64_t> logged_us_;
  std::uint64_t due_ = 0;  ///< since the last sentence, as all below
  std::uint64_t skipped_ = 0;
  double slowest_ms_ = 0;  ///< of the slowest tick, and its slowest stage
  Stage slowest_stage_;
};

}  // namespace starling::stream
