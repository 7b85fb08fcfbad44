// SPDX-License-Identifier: Apache-2.0
// Makes the log's sentence about skipped ticks, at most once in ten seconds. The sentence names the
// slowest stage of the slowest tick, or says that the system did not run the server. Ticker passes
// the times of every tick to this class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "starling/knn/engine/tick_result.hpp"

namespace starling::stream {

class OverrunLog {
 public:
  explicit OverrunLog(std::int64_t period_us) : period_us_(period_us) {}

  /// Counts `skipped` ticks that were due and are skipped and, if `begins` is true, one more tick
  /// that was due and begins now.
  void due(bool begins, std::uint64_t skipped) {
    due_ += skipped + (begins ? 1 : 0);
    skipped_ += skipped;
  }
  /// Call it when the system did not run the server for `late_us`. `ticks` of the skipped ticks
  /// were due in this time.
  void stalled(std::uint64_t ticks, std::int64_t late_us) {
    stalled_ += ticks;
    late_us_ = std::max(late_us_, late_us);
  }
  /// Records the times of a finished tick. `total_ms` is the time from the tick's begin until the
  /// loop has its reports.
  void finished(const StageTimes& times, double total_ms);
  /// Records how long the encoding of a finished tick's messages took.
  void encoded(double ms);

  /// Returns the sentence to log now. Returns std::nullopt if no tick was skipped, or if a sentence
  /// was logged in the last ten seconds. The sentence covers the time since the last sentence.
  std::optional<std::string> sentence(std::int64_t now_us);

 private:
  struct Stage {
    std::string_view name;
    double ms = 0;
  };

  static constexpr std::string_view waiting_for_loop = "waiting for the server's loop";

  std::string stall_sentence(double period_ms) const;
  std::string load_sentence(double period_ms) const;
  void keep_slowest(double total_ms, const Stage& stage);

  std::int64_t period_us_;
  std::optional<std::int64_t> logged_us_;
  /// Ticks due since the last sentence. All members below are since the last sentence, too.
  std::uint64_t due_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t stalled_ = 0;  ///< skipped ticks that a stall explains
  std::int64_t late_us_ = 0;   ///< the longest time for which the system did not run the server
  double slowest_ms_ = 0;      ///< the time of the slowest tick
  Stage slowest_stage_;        ///< the slowest stage of that tick
};

}  // namespace starling::stream
