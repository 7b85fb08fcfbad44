// How much shared memory a block may ask for when it is launched.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "gpu/check.hpp"

namespace starling::gpu {

/// On the calling thread's device. The smallest of today's have 99 KiB.
inline std::size_t block_memory_max() {
  int device = 0;
  int bytes = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(bytes);
}

template <class Kernel>
void allow_block_memory(Kernel kernel, std::size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)));
}

}  // namespace starling::gpu
