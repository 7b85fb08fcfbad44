// How many threads and blocks a kernel is launched with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/check.hpp"

namespace starling::gpu {

inline constexpr unsigned block_threads = 256;

/// Blocks for `count` threads; `count` is at least 1.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = block_threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Threads of a block of warps, `threads` at most, whose shared memory its device has: 32 at least.
inline unsigned threads_that_fit(unsigned threads, std::size_t thread_bytes) {
  int device = 0;
  int bytes_max = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  while (threads > 32 && threads * thread_bytes > static_cast<std::size_t>(bytes_max)) threads /= 2;
  return threads;
}

__device__ inline std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

}  // namespace starling::gpu
