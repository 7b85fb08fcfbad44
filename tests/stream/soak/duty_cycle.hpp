// SPDX-License-Identifier: Apache-2.0
// Limits the processor time of a thread, and of the ZeroMQ threads that work for it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace starling::stream {

/// rest() sleeps if the threads have had more than their share of a core. Only one thread calls it.
class DutyCycle {
 public:
  explicit DutyCycle(double cores) : cores_(cores) {}

  /// Also counts the threads of this process whose names begin with `prefix`, from now on.
  void count_threads(std::string_view prefix);
  void rest() const;

 private:
  double cores_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::vector<pid_t> threads_;
};

}  // namespace starling::stream
