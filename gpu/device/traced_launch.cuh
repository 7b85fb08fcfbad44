// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, and records the kernel's name if the thread has a LaunchTrace. A test reads
// the names to check that every published method runs only its own kernels.
#pragma once

#include <cuda_runtime.h>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/launch_trace.hpp"

namespace starling::gpu {

struct LaunchShape {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;
};

/// `parameters` must have exactly the types of the kernel's parameters. Throws DeviceError if the
/// launch fails.
template <class... Parameters>
void traced_launch(void (*kernel)(Parameters...), const LaunchShape& shape,
                   const CudaStream& stream, Parameters... parameters) {
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream.get()>>>(parameters...);
  check_launch();
  if (LaunchTrace::is_on()) {
    const char* name = nullptr;
    check(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
    LaunchTrace::add(name);
  }
}

}  // namespace starling::gpu
