// SPDX-License-Identifier: Apache-2.0
// Turns candidates into lists: the k nearest of each query, sorted. finish_launch.cu launches the
// kernel; the published methods use sort_keys().
#pragma once

#include "starling/gpu/vectors/scan/candidates.cuh"

namespace starling::gpu {

/// Threads of a block. Blocks for few queries are larger, because few blocks do not fill the
/// device, and because the lists of few queries are long: all warps append rows of their first
/// panels before a bound is known.
inline constexpr unsigned finish_threads_few = 1024;
inline constexpr unsigned finish_threads_many = 256;

/// Copies the keys that are at most `limit` to shared memory. Returns the number of these keys,
/// which may exceed `room`; keys beyond `room` are not copied. Called by the whole block; all
/// threads have the result.
__device__ inline std::uint32_t gather_keys(const std::uint64_t* keys, std::uint32_t count,
                                            std::uint64_t limit, std::uint64_t* gathered,
                                            std::uint32_t room, std::uint32_t& gathered_count) {
  if (threadIdx.x == 0) gathered_count = 0;
  __syncthreads();
  constexpr unsigned in_flight = 8;
  for (std::uint32_t begin = threadIdx.x; begin < count; begin += in_flight * blockDim.x) {
    std::uint64_t read[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t at = begin + i * blockDim.x;
      read[i] = at < count ? keys[at] : ~std::uint64_t{0};  // larger than every key
    }
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      if (read[i] > limit) continue;
      const std::uint32_t at = atomicAdd(&gathered_count, 1u);
      if (at < room) gathered[at] = read[i];
    }
  }
  __syncthreads();
  const std::uint32_t result = gathered_count;
  __syncthreads();
  return result;
}

/// Returns a limit such that at least k and at most `room` keys are less than or equal to it. There
/// must be at least k keys. This is a radix selection that begins with the top digit. Each pass
/// reads all keys, takes the next eight bits of the keys, and enters the bucket of the k-th key.
/// The selection ends when all keys up to the end of that bucket fit. All keys differ, so the last
/// pass leaves k keys. Called by the whole block; all threads have the result. `histogram` has 256
/// entries.
__device__ inline std::uint64_t limit_of_keys(const std::uint64_t* keys, std::uint32_t count,
                                              std::uint32_t k, std::uint32_t room,
                                              std::uint32_t* histogram, std::uint64_t& found) {
  constexpr int digit_bits = 8;
  std::uint64_t prefix = 0;
  std::uint32_t before = 0;  // number of keys below the bucket of `prefix`
  for (int shift = 64 - digit_bits;; shift -= digit_bits) {
    if (threadIdx.x < 256) histogram[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
      const std::uint64_t key = keys[i];
      if (shift == 64 - digit_bits || key >> (shift + digit_bits) == prefix)
        atomicAdd(&histogram[key >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      std::uint32_t within = before;
      std::uint32_t digit = 0;
      while (within + histogram[digit] < k) within += histogram[digit++];
      found = prefix << digit_bits | digit;
      histogram[0] = within + histogram[digit];  // the histogram is no longer needed
      histogram[1] = within;
    }
    __syncthreads();
    prefix = found;
    const std::uint32_t within = histogram[0];
    before = histogram[1];
    __syncthreads();
    if (within <= room || shift == 0) return prefix << shift | ((std::uint64_t{1} << shift) - 1);
  }
}

/// Sorts keys in ascending order by a bitonic sort; `size` is a power of two. Called by the whole
/// block; all threads see the result.
__device__ inline void sort_keys(std::uint64_t* keys, std::uint32_t size) {
  for (std::uint32_t run = 2; run <= size; run *= 2)
    for (std::uint32_t stride = run / 2; stride > 0; stride /= 2) {
      for (std::uint32_t pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
        const std::uint32_t i = 2 * pair - (pair & (stride - 1));
        const std::uint64_t a = keys[i];
        const std::uint64_t b = keys[i + stride];
        if ((a > b) == ((i & run) == 0)) {
          keys[i] = b;
          keys[i + stride] = a;
        }
      }
      __syncthreads();
    }
}

/// Writes the k nearest candidates of each query. Grid: one block for each query. The block renews
/// the bound, copies the candidates within the bound to shared memory and sorts them there. If they
/// do not fit, limit_of_keys() first gives a lower limit. Writes `neighbors` [query][k], with
/// {infinity, no_row} after the last neighbour. If `neighbors` is null, writes the keys back to
/// the front of the candidate list, and updates its count and bound, for a scan of the next part of
/// the corpus. Shared bytes: 8 * room and 1 KB; `room` is a power of two, at least k.
template <std::uint32_t room, unsigned threads>
__global__ void __launch_bounds__(threads)
    vector_finish_kernel(const CandidateLists lists, VectorNeighbor* neighbors) {
  __shared__ std::uint64_t keys[room];
  __shared__ std::uint32_t histogram[256];
  __shared__ std::uint64_t found;
  __shared__ std::uint32_t gathered_count;
  const std::uint32_t query = blockIdx.x;
  std::uint64_t* list = lists.keys + std::size_t{query} * lists.room;
  const std::uint32_t count = lists.counts[query];
  if (threadIdx.x < warp_lanes) {
    const std::uint32_t renewed =
        count <= room ? ordered_infinity
                      : bound_of_slots(lists.slots + std::size_t{query} * lists.slot_count,
                                       lists.slot_count, lists.k);
    if (threadIdx.x == 0)
      found = std::uint64_t{min(renewed, lists.bounds[query])} << 32 | ~std::uint32_t{0};
  }
  __syncthreads();
  const std::uint64_t bound = found;
  std::uint32_t size = gather_keys(list, count, bound, keys, room, gathered_count);
  if (size > room) {
    const std::uint64_t limit = limit_of_keys(list, count, lists.k, room, histogram, found);
    size = gather_keys(list, count, limit, keys, room, gathered_count);
  }
  std::uint32_t sorted = 2;
  while (sorted < size) sorted *= 2;
  for (std::uint32_t i = size + threadIdx.x; i < sorted; i += blockDim.x)
    keys[i] = ~std::uint64_t{0};
  __syncthreads();
  sort_keys(keys, sorted);
  const std::uint32_t kept = min(size, lists.k);
  if (neighbors == nullptr) {
    for (std::uint32_t i = threadIdx.x; i < kept; i += blockDim.x) list[i] = keys[i];
    if (threadIdx.x == 0) {
      lists.counts[query] = kept;
      if (kept == lists.k) lists.bounds[query] = static_cast<std::uint32_t>(keys[kept - 1] >> 32);
    }
    return;
  }
  for (std::uint32_t i = threadIdx.x; i < lists.k; i += blockDim.x)
    neighbors[std::size_t{query} * lists.k + i] =
        i < kept ? VectorNeighbor{score_of_ordered(static_cast<std::uint32_t>(keys[i] >> 32)),
                                  static_cast<VectorRow>(keys[i])}
                 : VectorNeighbor{CUDART_INF_F, no_row};
}

}  // namespace starling::gpu
