// How long the parts of a tick take by the host's clock: of VectorEngine and of the CPU engine.
#pragma once

#include <chrono>
#include <utility>

namespace starling {

class Stopwatch {
 public:
  /// Milliseconds since the last call, or since the start.
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace starling
