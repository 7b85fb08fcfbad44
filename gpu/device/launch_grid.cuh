// How many threads and blocks a kernel is launched with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {

inline constexpr unsigned block_threads = 256;

/// Blocks for `count` threads; `count` is at least 1.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = block_threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Of dynamic shared memory that a block of the kernel may have on its device; allows it as much.
/// Always the same, so that a launch on one thread takes nothing from one on another.
template <class Kernel>
std::size_t allow_shared_bytes(Kernel kernel) {
  int device = 0;
  int bytes_max = 0;
  cudaFuncAttributes attributes{};
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check(cudaFuncGetAttributes(&attributes, kernel));
  bytes_max -= static_cast<int>(attributes.sharedSizeBytes);
  if (attributes.maxDynamicSharedSizeBytes != bytes_max)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_max));
  return static_cast<std::size_t>(bytes_max);
}

/// Threads of a block of warps of the kernel, `threads` at most, for which there is shared memory:
/// 32 at least.
template <class Kernel>
unsigned threads_that_fit(Kernel kernel, unsigned threads, std::size_t thread_bytes) {
  const std::size_t bytes_max = allow_shared_bytes(kernel);
  while (threads > 32 && threads * thread_bytes > bytes_max) threads /= 2;
  return threads;
}

inline unsigned multiprocessor_count() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

/// Blocks that the device runs of the kernel at once; allows it the shared memory. At least one a
/// multiprocessor.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  allow_shared_bytes(kernel);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                      shared_bytes));
  return static_cast<unsigned>(std::max(blocks, 1)) * multiprocessor_count();
}

__device__ inline std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

}  // namespace starling::gpu
