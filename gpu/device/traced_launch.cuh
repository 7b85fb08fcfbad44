// Launches a kernel and, where somebody listens, says which one it was: a test holds every
// published method to its own kernels.
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

/// Arguments are of the kernel's own types.
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
