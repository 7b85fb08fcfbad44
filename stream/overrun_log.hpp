// SPDX-License-Identifier: Apache-2.0
// What the log says about skipped ticks: at most one sentence in ten seconds. The sentence names
// the stage that took the most time. Ticker passes the times of every tick to this class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/knn/engine/tick_result.hpp"

namespace starling::stream {

class OverrunLog {
 public:
  explicit OverrunLog(std::int64_t period_us) : period_us_(period_us) {}

  /// Counts the ticks that were due: `skipped` ticks that are skipped, and one more tick, which
  /// begins now, if `begins` is true.
  void due(bool begins, std::uint64_t skipped) {
    due_ += skipped + (begins ? 1 : 0);
    skipped_ += skipped;
  }
  /// Takes in the times of a finished tick. `total_ms` is the time from the tick's begin to its
  /// result.
  void finished(const StageTimes& times, double total_ms);
  /// Takes in how long the encoding of a finished tick's messages took.
  void encoded(double ms);

  /// Returns the sentence to log now. Returns std::nullopt if no tick was skipped, or if a sentence
  /// was logged in the last ten seconds. The sentence covers the time since the one before.
  std::optional<std::string> sentence(std::int64_t now_us);

 private:
  struct Stage {
    const char* name = "";
    double ms = 0;
  };

  void keep_slowest(double total_ms, const Stage& stage);

  std::int64_t period_us_;
  std::optional<std::int64_t> logged_us_;
  std::uint64_t due_ = 0;  ///< since the last sentence, like all members below
  std::uint64_t skipped_ = 0;
  double slowest_ms_ = 0;  ///< of the slowest tick, whose slowest stage follows
  Stage slowest_stage_;
};

}  // namespace starling::stream
