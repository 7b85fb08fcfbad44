// How a kernel of one thread an element is launched.
#pragma once

#include <cstdint>

namespace starling::gpu {

inline constexpr unsigned block_threads = 256;

/// Blocks for `count` threads; `count` is at least 1.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = block_threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

__device__ inline std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

}  // namespace starling::gpu
