// The two clocks of a running server, in microseconds. Pure parts take their numbers as arguments.
#pragma once

#include <chrono>
#include <cstdint>

namespace starling {

/// Never goes back; says nothing about the date.
inline std::int64_t steady_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double ms_since(std::int64_t steady_us) {
  return static_cast<double>(steady_now_us() - steady_us) / 1e3;
}

/// Since the epoch; may be set back.
inline std::int64_t wall_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace starling
