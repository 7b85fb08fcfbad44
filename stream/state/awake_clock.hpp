// SPDX-License-Identifier: Apache-2.0
// Measures time without that in which the server itself stood still, because its process was
// stopped or its machine slept. Clients could not be heard meanwhile, so it does not count as their
// silence. SessionTable and SnapshotStore have one each.
#pragma once

#include <algorithm>
#include <cstdint>

namespace starling::stream {

class AwakeClock {
 public:
  /// The loop reads the clock at least once a second. Longer pauses count as this one.
  static constexpr std::int64_t step_max_us = 2'000'000;

  /// `now_us` is from the steady clock. Returns a time that goes on with it, by at most step_max_us
  /// from call to call, and never goes back.
  std::int64_t read(std::int64_t now_us) {
    if (has_started_) awake_us_ += std::clamp<std::int64_t>(now_us - last_us_, 0, step_max_us);
    has_started_ = true;
    last_us_ = std::max(last_us_, now_us);
    return awake_us_;
  }

 private:
  bool has_started_ = false;
  std::int64_t last_us_ = 0;
  std::int64_t awake_us_ = 0;
};

}  // namespace starling::stream
