// SPDX-License-Identifier: Apache-2.0
// Checks CUDA calls and kernel launches. Every CUDA call and every launch in gpu/ goes through
// these functions, except where the caller itself handles the error, or ignores it on purpose, as
// destructors do.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace starling::gpu {

/// The error of a CUDA call or launch. Its message has CUDA's text and name of the error, and the
/// source line of the call. If memory ran out, it also says what helps.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(cudaError_t code, const std::source_location& where);
  cudaError_t code() const { return code_; }
  /// Returns true if further calls on this device are expected to fail until the process ends.
  bool is_final() const;

 private:
  cudaError_t code_;
};

/// Throws DeviceError unless `code` is cudaSuccess.
void check(cudaError_t code, std::source_location where = std::source_location::current());

/// Checks the kernel launch just before this call. Throws DeviceError if the launch failed.
inline void check_launch(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
}

}  // namespace starling::gpu
