// SPDX-License-Identifier: Apache-2.0
// How many requests may be decoded and wait to be applied, so that workers and loop always have
// work, and a request that comes next waits for a few milliseconds. RequestIntake owns it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace starling::stream {

/// Measures how fast requests are decoded and applied, and allows as many as take window_us.
class DecodeWindow {
 public:
  /// Call it when a request is handed to the workers. `is_first`: no other one is under way.
  void began(bool is_first, std::int64_t now_us) {
    if (is_first) since_us_ = now_us;
  }
  /// Call it when a request of `bytes` is applied.
  void ended(std::size_t bytes, std::int64_t now_us) {
    bytes_ += static_cast<double>(bytes);
    ++requests_;
    busy_us_ += static_cast<double>(std::max<std::int64_t>(now_us - since_us_, 0));
    since_us_ = now_us;
    if (busy_us_ < sample_us) return;
    bytes_max_ = mean(bytes_max_, bytes_ / busy_us_ * window_us);
    requests_max_ = mean(requests_max_, requests_ / busy_us_ * window_us);
    bytes_ = requests_ = busy_us_ = 0;
  }

  /// Returns whether one more may follow after `requests` with `bytes`. When the window was full,
  /// it has room again when half of it is empty, so that workers are woken for many requests at
  /// once.
  bool has_room(std::size_t requests, std::size_t bytes) {
    const double part = is_full_ ? 0.5 : 1;
    is_full_ = static_cast<double>(requests) >= requests_max_ * part ||
               static_cast<double>(bytes) >= bytes_max_ * part;
    return !is_full_;
  }

 private:
  static constexpr double window_us = 5000;
  static constexpr double sample_us = 1000;
  static double mean(double before, double now) { return before + (now - before) / 4; }

  double bytes_max_ = 4 << 20;
  double requests_max_ = 64;
  double bytes_ = 0;
  double requests_ = 0;
  double busy_us_ = 0;
  std::int64_t since_us_ = 0;
  bool is_full_ = false;
};

}  // namespace starling::stream
