// SPDX-License-Identifier: Apache-2.0
// Sorts the keys of one warp in registers, which takes a tenth of the shared memory traffic of
// sort_keys(). Quick multi-select calls it for rows that a warp selects from.
#pragma once

#include <cstdint>

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

/// The most keys of a lane. A warp then sorts 512 keys.
inline constexpr unsigned warp_sort_each_max = 16;

/// Returns how many keys each lane holds if a warp sorts k keys: a power of two, at least 2.
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

template <class Key>
__device__ __forceinline__ void order_pair(Key& a, Key& b, bool is_ascending) {
  const bool is_swapped = (a > b) == is_ascending;
  const Key first = is_swapped ? b : a;
  b = is_swapped ? a : b;
  a = first;
}

/// The merge step of a bitonic sort: sorts each run of `run` keys, one ascending and the next
/// descending. Each run must be a bitonic sequence. Lane l holds keys l * each to
/// l * each + each - 1. Called by a whole warp.
template <unsigned each, unsigned run, class Key>
__device__ __forceinline__ void merge_in_warp(Key (&keys)[each]) {
  const unsigned lane = threadIdx.x % warp_lanes;
  if constexpr (run > each) {
    const bool is_ascending = (lane & run / each) == 0;
#pragma unroll
    for (unsigned stride = run / each / 2; stride > 0; stride /= 2) {
      const bool keeps_least = ((lane & stride) == 0) == is_ascending;
#pragma unroll
      for (unsigned i = 0; i < each; ++i) {
        const Key other = __shfl_xor_sync(all_lanes, keys[i], stride);
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

template <unsigned each, unsigned run = 2, class Key>
__device__ __forceinline__ void sort_in_warp(Key (&keys)[each]) {
  merge_in_warp<each, run>(keys);
  if constexpr (run < each * warp_lanes) sort_in_warp<each, 2 * run>(keys);
}

/// Moves the least keys of a warp's two sorted halves to `keys`, sorted. Before the call `keys`
/// holds the second half, and first_at(i) returns key i of the first half. Returns the least of the
/// keys that this lane dropped. Called by a whole warp.
template <unsigned each, class Key, class FirstAt>
__device__ __forceinline__ Key merge_halves(Key (&keys)[each], const FirstAt& first_at) {
  constexpr unsigned size = each * warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  Key dropped = ~Key{0};
  // Pairs key i of one half with the i-th key from the end of the other half. The lesser keys of
  // all pairs are a bitonic sequence, so one merge sorts them.
#pragma unroll
  for (unsigned i = 0; i < each; ++i) {
    const Key other = first_at(size - 1 - (lane * each + i));
    dropped = min(dropped, max(keys[i], other));
    keys[i] = min(keys[i], other);
  }
  merge_in_warp<each, size>(keys);
  return dropped;
}

/// Does the same as sort_least_of_warp() for keys that are all in `others`, but sorts numbers of 32
/// bits, which takes a third of the instructions. The upper 22 bits of a number grow with the
/// score, and the lower 10 bits are the index of the key. Returns false, with `sorted` undefined,
/// if many scores have the same upper bits, or if a score is infinite. Called by a whole warp.
template <unsigned each>
__device__ __forceinline__ bool sort_least_by_numbers(std::uint64_t* sorted,
                                                      const std::uint64_t* others,
                                                      std::uint32_t count) {
  constexpr unsigned size = each * warp_lanes;
  constexpr unsigned place_bits = 10;
  constexpr std::uint32_t place_mask = (1u << place_bits) - 1;
  constexpr std::uint32_t steps_max = ~0u >> place_bits;
  static_assert(2 * size <= place_mask + 1);
  const unsigned lane = threadIdx.x % warp_lanes;
  const auto score_at = [&](std::uint32_t i) {
    return static_cast<std::uint32_t>(others[i] >> 32);
  };
  std::uint32_t least = ~0u;
  std::uint32_t most = 0;
  for (std::uint32_t i = lane; i < count; i += warp_lanes) {
    least = min(least, score_at(i));
    most = max(most, score_at(i));
  }
  const float low = score_of_ordered(__reduce_min_sync(all_lanes, least));
  const float range = score_of_ordered(__reduce_max_sync(all_lanes, most)) - low;
  const float scale = static_cast<float>(steps_max) / range;
  if (!(scale > 0 && scale < CUDART_INF_F)) return false;  // infinite scores, or all alike
  const auto number_at = [&](std::uint32_t i) {
    if (i >= count) return ~0u;
    const float steps = (score_of_ordered(score_at(i)) - low) * scale;
    return min(static_cast<std::uint32_t>(steps), steps_max) << place_bits | i;
  };
  std::uint32_t numbers[each];
  const auto read = [&](std::uint32_t begin) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) numbers[i] = number_at(begin + i * warp_lanes + lane);
    sort_in_warp(numbers);
  };
  read(0);
  bool is_sorted = true;
  if (count > size) {
    auto* first = reinterpret_cast<std::uint32_t*>(sorted);
#pragma unroll
    for (unsigned i = 0; i < each; ++i) first[place_of_sorted<each>(lane * each + i)] = numbers[i];
    __syncwarp();
    read(size);
    const std::uint32_t dropped =
        merge_halves<each>(numbers, [&](unsigned i) { return first[place_of_sorted<each>(i)]; });
    const std::uint32_t last = __shfl_sync(all_lanes, numbers[each - 1], warp_lanes - 1);
    is_sorted = __reduce_min_sync(all_lanes, dropped) >> place_bits > last >> place_bits;
    __syncwarp();  // all lanes have read `first`
  }
  std::uint64_t keys[each];
#pragma unroll
  for (unsigned i = 0; i < each; ++i)
    keys[i] = numbers[i] == ~0u ? ~std::uint64_t{0} : others[numbers[i] & place_mask];
    // Neighbours with the same upper bits may be out of order; these exchanges sort most of them.
#pragma unroll
  for (unsigned i = 0; i + 1 < each; i += 2) order_pair(keys[i], keys[i + 1], true);
#pragma unroll
  for (unsigned i = 1; i + 1 < each; i += 2) order_pair(keys[i], keys[i + 1], true);
  const std::uint64_t before = __shfl_up_sync(all_lanes, keys[each - 1], 1);
  const std::uint64_t after = __shfl_down_sync(all_lanes, keys[0], 1);
  if (lane > 0) keys[0] = max(keys[0], before);
  if (lane + 1 < warp_lanes) keys[each - 1] = min(keys[each - 1], after);
#pragma unroll
  for (unsigned i = 0; i + 1 < each; ++i) is_sorted = is_sorted && keys[i] <= keys[i + 1];
  const std::uint64_t last_before = __shfl_up_sync(all_lanes, keys[each - 1], 1);
  is_sorted = is_sorted && (lane == 0 || last_before <= keys[0]);
#pragma unroll
  for (unsigned i = 0; i < each; ++i) sorted[place_of_sorted<each>(lane * each + i)] = keys[i];
  return __all_sync(all_lanes, is_sorted) != 0;
}

/// Sorts the least each * 32 of `count` keys; `count` is at most each * 64. The first `kept` keys,
/// at most each * 32, are in `sorted` in shared memory, and the other keys are in `others`. Writes
/// each * 32 keys to `sorted`: key i of the result to place_of_sorted(i), and ~0 after the last
/// key. All keys differ. Called by a whole warp; afterwards all lanes see the result. Not inlined,
/// because it would take registers from the loops of its caller.
template <unsigned each>
__device__ __noinline__ void sort_least_of_warp(std::uint64_t* sorted, std::uint32_t kept,
                                                const std::uint64_t* others, std::uint32_t count) {
  constexpr unsigned size = each * warp_lanes;
  // With fewer keys the faster sort saves too little time to matter.
  if constexpr (each >= 8)
    if (kept == 0 && sort_least_by_numbers<each>(sorted, others, count)) return __syncwarp();
  const unsigned lane = threadIdx.x % warp_lanes;
  std::uint64_t keys[each];
  const auto read = [&](std::uint32_t begin) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t at = begin + i * warp_lanes + lane;  // the order does not matter yet
      keys[i] = at >= count ? ~std::uint64_t{0} : at < kept ? sorted[at] : others[at - kept];
    }
  };
  const auto write = [&] {
    __syncwarp();  // all lanes have read their keys
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
  merge_halves<each>(keys, [&](unsigned i) { return sorted[place_of_sorted<each>(i)]; });
  write();
}

}  // namespace starling::gpu
