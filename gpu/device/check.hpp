// SPDX-License-Identifier: Apache-2.0
// Checks CUDA calls and kernel launches. Every CUDA call and every launch in gpu/ is checked here,
// except calls that ignore errors on purpose, as destructors do.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace starling::gpu {

/// Says what the device or its driver answered, at which source line, and what helps.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(cudaError_t code, const std::source_location& where);
  cudaError_t code() const { return code_; }
  /// True if no further call can succeed on this device in this process.
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
