// SPDX-License-Identifier: Apache-2.0
// Measures the parts of a tick by the host's clock, for VectorEngine and the CPU engine.
#pragma once

#include <chrono>
#include <utility>

namespace starling {

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
