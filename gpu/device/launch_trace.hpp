// SPDX-License-Identifier: Apache-2.0
// Records the names of the kernels that a thread launches, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// From construction to destruction, records the kernels that the constructing thread launches with
/// traced_launch (traced_launch.cuh). A thread may have only one LaunchTrace at a time.
class LaunchTrace {
 public:
  LaunchTrace() { current_ = this; }
  ~LaunchTrace() { current_ = nullptr; }
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  /// Returns the names of the launched kernels, as cudaFuncGetName gives them, in the order of the
  /// launches.
  const std::vector<std::string>& kernels() const { return kernels_; }

  static bool is_on() { return current_ != nullptr; }
  static void add(const char* kernel) { current_->kernels_.emplace_back(kernel); }

 private:
  static inline thread_local LaunchTrace* current_ = nullptr;
  std::vector<std::string> kernels_;
};

}  // namespace starling::gpu
