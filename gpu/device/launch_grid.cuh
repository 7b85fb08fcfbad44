// SPDX-License-Identifier: Apache-2.0
// Host functions that choose the blocks, threads and shared memory of a launch, and thread_index()
// for kernels. Most .cu and .cuh files in gpu/ use them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/shared_bytes.hpp"

namespace starling::gpu {

inline constexpr unsigned block_threads = 256;

/// Returns the number of blocks of `threads` threads that together have at least `count` threads;
/// `count` is at least 1.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = block_threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Lets each block of the kernel use as much dynamic shared memory as the current device allows,
/// and returns this size in bytes.
template <class Kernel>
std::size_t allow_shared_bytes(Kernel kernel) {
  return allow_shared_bytes_of(reinterpret_cast<const void*>(kernel));
}

/// Returns `threads`, halved until the shared memory of a block fits, but at least 32. A block
/// needs `thread_bytes` bytes of shared memory for each of its threads.
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

/// Returns how many blocks of the kernel the device runs at once, but at least one for each
/// multiprocessor. Calls allow_shared_bytes for the kernel.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  allow_shared_bytes(kernel);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                      shared_bytes));
  return static_cast<unsigned>(std::max(blocks, 1)) * multiprocessor_count();
}

/// Returns true if the blocks of a launch may wait for each other on the current device.
inline bool has_cooperative_launch() {
  int device = 0;
  int is_able = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&is_able, cudaDevAttrCooperativeLaunch, device));
  return is_able != 0;
}

/// Returns the index of the calling thread in a one-dimensional grid.
__device__ inline std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

}  // namespace starling::gpu
