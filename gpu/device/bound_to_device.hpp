// SPDX-License-Identifier: Apache-2.0
// Makes a CUDA device the current device of the calling thread for the duration of a scope.
// Functions that make engines, copy_from_device and CudaVectorStore::copy_ahead use it.
#pragma once

#include <cuda_runtime_api.h>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {

/// While a BoundToDevice lives, `device` is the current CUDA device of the thread that made it. The
/// destructor makes the thread's earlier device current again.
class BoundToDevice {
 public:
  /// Throws DeviceError if there is no such device.
  explicit BoundToDevice(int device) {
    check(cudaGetDevice(&device_before_));
    check(cudaSetDevice(device));
  }
  BoundToDevice(const BoundToDevice&) = delete;
  BoundToDevice& operator=(const BoundToDevice&) = delete;
  ~BoundToDevice() { static_cast<void>(cudaSetDevice(device_before_)); }

 private:
  int device_before_ = 0;
};

}  // namespace starling::gpu
