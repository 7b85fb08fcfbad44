// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, and records the kernel's name if the thread has a LaunchTrace. A test reads
// the names to check that every published method runs only its own kernels.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cuda_runtime.h>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/launch_trace.hpp"

namespace starling::gpu {

struct LaunchShape {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;
  bool is_cooperative = false;  ///< all blocks run at once and may wait for each other
};

/// Throws DeviceError if the launch fails.
template <class... Parameters>
void traced_launch(void (*kernel)(Parameters...), const LaunchShape& shape,
                   const CudaStream& stream, std::type_identity_t<Parameters>... parameters) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.get();
  config.attrs = &cooperative;
  config.numAttrs = shape.is_cooperative ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, parameters...));
  if (LaunchTrace::is_on()) {
    const char* name = nullptr;
    check(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
    LaunchTrace::add(name);
  }
}

}  // namespace starling::gpu
