// SPDX-License-Identifier: Apache-2.0
// Records the names of the kernels that a thread launches, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// Records from construction to destruction, on the constructing thread only, and only launches
/// that go through traced_launch (traced_launch.cuh). One trace at a time for each thread.
class LaunchTrace {
 public:
  LaunchTrace() { current_ = this; }
  ~LaunchTrace() { current_ = nullptr; }
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  /// In the order of their launches, with the names that the compiler gives them.
  const std::vector<std::string>& kernels() const { return kernels_; }

  static bool is_on() { return current_ != nullptr; }
  static void add(const char* kernel) { current_->kernels_.emplace_back(kernel); }

 private:
  static inline thread_local LaunchTrace* current_ = nullptr;
  std::vector<std::string> kernels_;
};

}  // namespace starling::gpu
