// SPDX-License-Identifier: Apache-2.0
// Sorts the keys of one warp in registers, which takes a tenth of the shared memory traffic of
// sort_keys(). Quick multi-select calls it for rows that a warp selects from.
#pragma once

#include <cstdint>

#include "starling/gpu/device/lane_group.cuh"

namespace starling::gpu {

/// The most keys that each lane holds, and so the most keys that a warp sorts at once: 512.
inline constexpr unsigned warp_sort_each_max = 16;

/// Returns how many keys each lane holds when the k least keys are sorted: a power of two, from 2
/// on.
constexpr unsigned warp_sort_each(std::uint32_t k) {
  unsigned each = 2;
  while (each * warp_lanes < k) each *= 2;
  return each;
}

/// Returns where sort_least_of_warp() writes key i of the sorted keys. Lane i / each holds it.
/// Neighbouring lanes and neighbouring keys are in different banks.
template <unsigned each>
__device__ __forceinline__ unsigned place_of_sorted(unsigned i) {
  return i % each * warp_lanes + (i / each + i % each) % warp_lanes;
}

__device__ __forceinline__ void order_pair(std::uint64_t& a, std::uint64_t& b, bool is_ascending) {
  const bool is_swapped = (a > b) == is_ascending;
  const std::uint64_t first = is_swapped ? b : a;
  b = is_swapped ? a : b;
  a = first;
}

/// Merges runs of `run` keys of a bitonic sort, from `run` / 2 keys on. Lane l holds keys l * each
/// to l * each + each - 1. Called by a whole warp.
template <unsigned each, unsigned run>
__device__ __forceinline__ void merge_in_warp(std::uint64_t (&keys)[each]) {
  const unsigned lane = threadIdx.x % warp_lanes;
  if constexpr (run > each) {
    const bool is_ascending = (lane & run / each) == 0;
#pragma unroll
    for (unsigned stride = run / each / 2; stride > 0; stride /= 2) {
      const bool keeps_least = ((lane & stride) == 0) == is_ascending;
#pragma unroll
      for (unsigned i = 0; i < each; ++i) {
        const std::uint64_t other = __shfl_xor_sync(all_lanes, keys[i], stride);
        keys[i] = (other < keys[i]) == keeps_least ? other : keys[i];
      }
    }
  }
#pragma unroll
  for (unsigned stride = (run > each ? each : run) / 2; stride > 0; stride /= 2) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      if ((i & stride) != 0) continue;
      const bool is_ascending = run < each ? (i & run) == 0 : (lane & run / each) == 0;
      order_pair(keys[i], keys[i + stride], is_ascending);
    }
  }
}

template <unsigned each, unsigned run = 2>
__device__ __forceinline__ void sort_in_warp(std::uint64_t (&keys)[each]) {
  merge_in_warp<each, run>(keys);
  if constexpr (run < each * warp_lanes) sort_in_warp<each, 2 * run>(keys);
}

/// Sorts the least each * 32 of `count` keys; `count` is at most each * 64. The first `kept` of
/// them, at most each * 32, are in `sorted` in shared memory, and the others in `others`. Writes
/// each * 32 keys to `sorted`: key i of the result to place_of_sorted(i), and ~0 behind the last.
/// All keys differ. Called by a whole warp; afterwards all lanes see the result. Not inlined:
/// inside a kernel that is short of registers it would take them from the kernel's loops.
template <unsigned each>
__device__ __noinline__ void sort_least_of_warp(std::uint64_t* sorted, std::uint32_t kept,
                                                const std::uint64_t* others, std::uint32_t count) {
  constexpr unsigned size = each * warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  std::uint64_t keys[each];
  const auto read = [&](std::uint32_t begin) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t at = begin + i * warp_lanes + lane;  // in any order before the sort
      keys[i] = at >= count ? ~std::uint64_t{0} : at < kept ? sorted[at] : others[at - kept];
    }
  };
  const auto write = [&] {
    __syncwarp();  // all lanes have read
#pragma unroll
    for (unsigned i = 0; i < each; ++i) sorted[place_of_sorted<each>(lane * each + i)] = keys[i];
    __syncwarp();
  };
  read(0);
  sort_in_warp(keys);
  write();
  if (count <= size) return;
  read(size);
  sort_in_warp(keys);
  // The least of both: key i of one with key i of the other from its end on. That is a bitonic
  // sequence, so one merge sorts it.
#pragma unroll
  for (unsigned i = 0; i < each; ++i)
    keys[i] = min(keys[i], sorted[place_of_sorted<each>(size - 1 - (lane * each + i))]);
  merge_in_warp<each, size>(keys);
  write();
}

}  // namespace starling::gpu
