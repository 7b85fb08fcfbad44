// SPDX-License-Identifier: Apache-2.0
// Ticks per second for the head of the live table. Called by apps/subscribe/subscribe.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace starling::apps {

/// Measures over windows of at least one second. In a shorter window, one tick more or less would
/// change the rate too much.
class TickRate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Takes the count of ticks so far. The first call starts the first window. Returns the rate of
  /// the last window that has ended; std::nullopt before the first one ends.
  std::optional<double> read(std::uint64_t ticks, TimePoint now) {
    constexpr std::chrono::seconds window_min{1};
    if (!start_) {
      start_ = now;
      ticks_at_start_ = ticks;
    } else if (now - *start_ >= window_min) {
      ticks_per_s_ = static_cast<double>(ticks - ticks_at_start_) /
                     std::chrono::duration<double>(now - *start_).count();
      start_ = now;
      ticks_at_start_ = ticks;
    }
    return ticks_per_s_;
  }

 private:
  std::optional<TimePoint> start_;
  std::uint64_t ticks_at_start_ = 0;
  std::optional<double> ticks_per_s_;
};

}  // namespace starling::apps
