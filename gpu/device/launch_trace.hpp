// The names of kernels that this thread launches, while a test wants to know.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// On from construction to destruction, for launches of the constructing thread.
class LaunchTrace {
 public:
  LaunchTrace() { current_ = this; }
  ~LaunchTrace() { current_ = nullptr; }
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  /// In order of launching, as the compiler names them.
  const std::vector<std::string>& kernels() const { return kernels_; }

  static bool is_on() { return current_ != nullptr; }
  static void add(const char* kernel) { current_->kernels_.emplace_back(kernel); }

 private:
  static inline thread_local LaunchTrace* current_ = nullptr;
  std::vector<std::string> kernels_;
};

}  // namespace starling::gpu
