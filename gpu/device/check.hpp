// The one way a CUDA call is checked: every call and launch in gpu/ goes through it.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace starling::gpu {

/// What the device or its driver answered, where, and what helps.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(cudaError_t code, const std::source_location& where);
  cudaError_t code() const { return code_; }
  /// Nothing more works on this device in this process.
  bool is_final() const;

 private:
  cudaError_t code_;
};

/// Throws DeviceError unless `code` is cudaSuccess.
void check(cudaError_t code, std::source_location where = std::source_location::current());

/// Checks the kernel launch just before.
inline void check_launch(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
}

}  // namespace starling::gpu
