// SPDX-License-Identifier: Apache-2.0
// Numbers of threads and blocks that kernels are launched with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/shared_bytes.hpp"

namespace starling::gpu {

inline constexpr unsigned block_threads = 256;

/// The number of blocks for `count` threads; `count` is at least 1.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = block_threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Lets blocks of the kernel use all the dynamic shared memory that the current device has for a
/// block, and returns that size.
template <class Kernel>
std::size_t allow_shared_bytes(Kernel kernel) {
  return allow_shared_bytes_of(reinterpret_cast<const void*>(kernel));
}

/// The number of threads in a block: `threads`, halved until the block's shared memory fits, but at
/// least 32.
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

/// How many blocks of the kernel the device runs at once, at least one for each multiprocessor.
/// Calls allow_shared_bytes for the kernel.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  allow_shared_bytes(kernel);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                      shared_bytes));
  return static_cast<unsigned>(std::max(blocks, 1)) * multiprocessor_count();
}

/// The thread's index in a one-dimensional grid.
__device__ inline std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

}  // namespace starling::gpu
