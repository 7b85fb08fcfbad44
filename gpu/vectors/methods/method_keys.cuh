// SPDX-License-Identifier: Apache-2.0
// Functions for keys of candidates (score.cuh) in the kernels of the published methods. They sort
// keys, guard them by a lock, and turn them into neighbours.
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/finish_kernel.cuh"

namespace starling::gpu {

/// Marks an empty entry. It is larger than the key of every row.
inline constexpr std::uint64_t no_key = ~std::uint64_t{0};

__device__ inline VectorNeighbor neighbor_of_key(std::uint64_t key) {
  if (key == no_key) return {CUDART_INF_F, no_row};
  return {score_of_ordered(static_cast<std::uint32_t>(key >> 32)), static_cast<VectorRow>(key)};
}

/// Returns the number of entries that sort_list() needs to sort k keys: the smallest power of two
/// that is at least k and at least 2.
__host__ __device__ constexpr std::uint32_t sorted_size_of(std::uint32_t k) {
  std::uint32_t size = 2;
  while (size < k) size *= 2;
  return size;
}

/// Sorts `count` keys in shared memory, ascending. `keys` has room for sorted_size_of(count) keys.
/// Called by the whole block; all threads see the result.
__device__ inline void sort_list(std::uint64_t* keys, std::uint32_t count) {
  const std::uint32_t size = sorted_size_of(count);
  for (std::uint32_t i = count + threadIdx.x; i < size; i += blockDim.x) keys[i] = no_key;
  __syncthreads();
  sort_keys(keys, size);
}

/// A lock in shared memory. Between enter_by_warp() and leave_by_warp() one warp has exclusive
/// access, and it sees what earlier warps wrote under the lock. Whole warps call both functions.
__device__ inline void enter_by_warp(std::uint32_t* lock) {
  if (threadIdx.x % 32 == 0)
    while (atomicCAS(lock, 0u, 1u) != 0) __nanosleep(20);
  __threadfence_block();
  __syncwarp();
}
__device__ inline void leave_by_warp(std::uint32_t* lock) {
  __threadfence_block();
  __syncwarp();
  if (threadIdx.x % 32 == 0) atomicExch(lock, 0u);
}

}  // namespace starling::gpu
