// SPDX-License-Identifier: Apache-2.0
// Follows drift of the wall clock slowly, and steps only after a time: see disciplined_clock.hpp.
#include "starling/stream/state/disciplined_clock.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "starling/knn/base/times.hpp"

namespace starling::stream {

namespace {

constexpr std::int64_t slew_divisor = 10;  // the time runs up to a tenth faster or slower
constexpr std::int64_t fall_back_divisor = 2;
constexpr std::int64_t new_step_log_us = 10'000'000;
constexpr std::int64_t old_step_log_us = 60'000'000;

std::string seconds_text(std::int64_t duration_us) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s",
                static_cast<double>(duration_us < 0 ? -duration_us : duration_us) / 1e6);
  return text;
}

}  // namespace

std::int64_t DisciplinedClock::read(std::int64_t steady_us, std::int64_t wall_us) {
  wall_us = std::clamp(wall_us, -time_us_limit, time_us_limit);
  if (!has_started_) {
    has_started_ = true;
    steady_us_ = steady_us;
    wall_us_ = wall_us;
    time_us_ = std::max(wall_us, first_us_);
  }
  const std::int64_t passed_us = std::max<std::int64_t>(steady_us - steady_us_, 0);
  const std::int64_t wall_moved_us = wall_us - wall_us_ - passed_us;  // how far it was set
  steady_us_ += passed_us;
  wall_us_ = wall_us;
  time_us_ = std::min(saturating_add(time_us_, passed_us), time_us_limit);

  const std::int64_t behind_us = wall_us_ - time_us_;
  if (std::abs(behind_us) <= slewed_us) {
    if (is_apart() && std::abs(wall_moved_us) > slewed_us) ++steps_;  // the clock was set right
    apart_since_us_.reset();
    const std::int64_t most_us = part_of(passed_us, slew_divisor);
    time_us_ += std::clamp(behind_us, -most_us, most_us);
    return time_us_;
  }
  notice_step(wall_moved_us);
  if (behind_us < 0 && has_lasted()) time_us_ -= part_of(passed_us, fall_back_divisor);
  return time_us_;
}

/// Returns `passed_us` / `divisor`. The remainder counts in the next call, because calls may be
/// less than `divisor` microseconds apart.
std::int64_t DisciplinedClock::part_of(std::int64_t passed_us, std::int64_t divisor) {
  const std::int64_t whole_us = std::min(left_over_us_, divisor - 1) + passed_us;
  left_over_us_ = whole_us % divisor;
  return std::min(whole_us / divisor, passed_us);
}

void DisciplinedClock::notice_step(std::int64_t wall_moved_us) {
  if (is_apart() && std::abs(wall_moved_us) <= slewed_us) return;
  ++steps_;
  apart_since_us_ = steady_us_;
}

std::int64_t DisciplinedClock::adopt() {
  if (!is_behind_for_long()) return 0;
  const std::int64_t moved_us = wall_us_ - time_us_;
  time_us_ = wall_us_;
  apart_since_us_.reset();
  return moved_us;
}

std::optional<std::string> DisciplinedClock::sentence() {
  if (!is_apart()) return std::nullopt;
  const std::int64_t pause_us = steps_ == steps_logged_ ? old_step_log_us : new_step_log_us;
  if (logged_us_ && steady_us_ - *logged_us_ < pause_us) return std::nullopt;
  logged_us_ = steady_us_;
  steps_logged_ = steps_;
  const std::string apart = "the wall clock was set: it is " + seconds_text(offset_us()) + ' ';
  const std::string wait = seconds_text(adopt_after_us_);
  if (offset_us() > 0)
    return apart +
           "ahead of the server's time, which goes on as before. If the wall clock stays so for " +
           wait + ", the server's time follows it";
  return apart +
         "behind the server's time, which never goes back. If the wall clock is wrong, set it "
         "right. After " +
         wait +
         " the server's time runs at half speed until the wall clock has caught up. A server that "
         "starts without a log, or with a new one, follows the wall clock at once";
}

}  // namespace starling::stream
