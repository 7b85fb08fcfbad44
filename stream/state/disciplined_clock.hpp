// SPDX-License-Identifier: Apache-2.0
// The time of a server with wall-clock ticks. It runs with the steady clock and is pulled towards
// the wall clock, so that a step of the wall clock does not end every lease and every object.
// Ticker reads it for tau, for leases and for the limit on event times; tests read it with virtual
// clocks.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace starling::stream {

/// If the wall clock differs by at most a second, the time runs up to a tenth faster or slower
/// until both agree. A larger difference is a step, which the time does not follow at first. After
/// the step has lasted for `adopt_after_us`, the time follows it: forward at once, when adopt() is
/// called; back at half speed, because time never decreases.
class DisciplinedClock {
 public:
  static constexpr std::int64_t slewed_us = 1'000'000;  ///< a larger difference is a step

  explicit DisciplinedClock(std::int64_t adopt_after_us) : adopt_after_us_(adopt_after_us) {}

  /// Makes the time go on from `time_us`, even if the wall clock is behind. Call it before read().
  void go_on_from(std::int64_t time_us) { first_us_ = time_us; }

  /// Returns the time now. `steady_us` never decreases from call to call. The first call returns
  /// `wall_us`, or the time of go_on_from() if that is later. No call returns an earlier time than
  /// the call before it.
  std::int64_t read(std::int64_t steady_us, std::int64_t wall_us);

  /// Returns whether the wall clock has been ahead for long enough, so that adopt() would follow
  /// it.
  bool is_behind_for_long() const { return has_lasted() && wall_us_ > time_us_; }
  /// If the wall clock has been ahead for long enough, moves the time forward to the wall clock of
  /// the last read(), and returns how far. Otherwise returns 0.
  std::int64_t adopt();

  /// Returns how often the wall clock was set by more than a second, in either direction.
  std::uint64_t steps() const { return steps_; }
  /// Returns how far the wall clock was ahead of the time at the last read(); negative: behind.
  std::int64_t offset_us() const { return wall_us_ - time_us_; }

  /// Returns the sentence to log now about a step that the time does not follow; std::nullopt: log
  /// nothing. There is at most one sentence in ten seconds for new steps, and one in a minute for a
  /// step that lasts.
  std::optional<std::string> sentence();

 private:
  bool is_apart() const { return apart_since_us_.has_value(); }
  bool has_lasted() const { return is_apart() && steady_us_ - *apart_since_us_ >= adopt_after_us_; }
  void notice_step(std::int64_t wall_moved_us);
  std::int64_t part_of(std::int64_t passed_us, std::int64_t divisor);

  std::int64_t adopt_after_us_;
  std::int64_t first_us_ = std::numeric_limits<std::int64_t>::min();
  bool has_started_ = false;
  /// The steady clock, the wall clock and the returned time at the last read().
  std::int64_t steady_us_ = 0;
  std::int64_t wall_us_ = 0;
  std::int64_t time_us_ = 0;
  std::int64_t left_over_us_ = 0;
  std::optional<std::int64_t> apart_since_us_;  ///< time of the steady clock at the last step away
  std::uint64_t steps_ = 0;
  std::uint64_t steps_logged_ = 0;
  std::optional<std::int64_t> logged_us_;
};

}  // namespace starling::stream
