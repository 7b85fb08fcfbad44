// Which device the calling thread works on while an engine is made: that of the engine, and
// afterwards the caller's again.
#pragma once

#include <cuda_runtime_api.h>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {

/// Binds the calling thread to a device, and so what it allocates, while it lives.
class BoundToDevice {
 public:
  /// Throws DeviceError where there is no such device.
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
