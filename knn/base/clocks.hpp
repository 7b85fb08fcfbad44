// SPDX-License-Identifier: Apache-2.0
// The clocks of a running server, in microseconds. Code without side effects takes the time as
// an argument and does not call these functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <utility>

namespace starling {

/// Returns a time that never goes back. Only the difference of two of these times has a meaning.
inline std::int64_t steady_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns a time that never goes back. On systems with CLOCK_BOOTTIME, it also advances while the
/// system sleeps.
inline std::int64_t boot_now_us() {
#if defined(CLOCK_BOOTTIME)
  std::timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) == 0)
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
#endif
  return steady_now_us();
}

/// Returns the processor time that the calling thread has used. It stands still while other threads
/// have the processor.
inline std::int64_t thread_time_us() {
  std::timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1000;
}

/// Returns the milliseconds since `steady_us`, a result of steady_now_us.
inline double ms_since(std::int64_t steady_us) {
  return static_cast<double>(steady_now_us() - steady_us) / 1e3;
}

/// Returns the time that steady_now_us returned `ms` milliseconds ago.
inline std::int64_t us_before_now(double ms) {
  return steady_now_us() - static_cast<std::int64_t>(ms * 1e3);
}

/// Returns the time since the Unix epoch. This time goes back when the system's clock is set back.
inline std::int64_t wall_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Measures the parts of a tick.
class Stopwatch {
 public:
  /// Returns the milliseconds since the last call, or since construction.
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace starling
