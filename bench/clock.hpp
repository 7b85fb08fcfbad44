// SPDX-License-Identifier: Apache-2.0
// The clock of the benchmarks, and functions that return the time between two of its readings.
#pragma once

#include <chrono>

namespace starling::bench {

using Clock = std::chrono::steady_clock;

inline double ms_between(Clock::time_point start, Clock::time_point stop) {
  return std::chrono::duration<double, std::milli>(stop - start).count();
}

inline double us_between(Clock::time_point start, Clock::time_point stop) {
  return std::chrono::duration<double, std::micro>(stop - start).count();
}

inline double seconds_since(Clock::time_point start) {
  return ms_between(start, Clock::now()) / 1e3;
}

}  // namespace starling::bench
