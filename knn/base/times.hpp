// SPDX-License-Identifier: Apache-2.0
// The range of times, and arithmetic on times that cannot overflow. Times are signed microseconds
// since any epoch. The tables, the filters and the server use these functions to add durations,
// such as leases and ages, to times.
#pragma once

#include <cstdint>
#include <limits>

namespace starling {

/// Event times and the times of ticks lie in [-time_us_limit, time_us_limit].
inline constexpr std::int64_t time_us_limit = std::int64_t{1} << 61;

constexpr bool is_time(std::int64_t time_us) {
  return time_us >= -time_us_limit && time_us <= time_us_limit;
}

/// Returns the sum, or the nearest std::int64_t if the sum overflows.
constexpr std::int64_t saturating_add(std::int64_t time_us, std::int64_t duration_us) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  if (duration_us > 0 && time_us > highest - duration_us) return highest;
  if (duration_us < 0 && time_us < lowest - duration_us) return lowest;
  return time_us + duration_us;
}

/// Returns the difference, or the nearest std::int64_t if the difference overflows.
constexpr std::int64_t saturating_sub(std::int64_t time_us, std::int64_t duration_us) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  if (duration_us > 0 && time_us < lowest + duration_us) return lowest;
  if (duration_us < 0 && time_us > highest + duration_us) return highest;
  return time_us - duration_us;
}

}  // namespace starling
