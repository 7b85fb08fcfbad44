// SPDX-License-Identifier: Apache-2.0
// The kernel of quick multi-select: a warp or a block runs quickselect on each row of a matrix, and
// partitions the row by ballots. quick_multiselect.cu launches it.
#pragma once

#include <algorithm>

#include <math_constants.h>

#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect.hpp"
#include "starling/gpu/vectors/methods/row_values.cuh"
#include "starling/gpu/vectors/methods/warp_sort.cuh"
#include "starling/gpu/vectors/scan/finish_kernel.cuh"

namespace starling::gpu {

/// The memory of partitions: two arrays of `room` keys for each block.
struct PartitionRoom {
  std::uint64_t* keys = nullptr;
  std::uint32_t room = 0;
  /// The most keys that are sorted: at least 3/2 k, and a power of two.
  std::uint32_t sort_room = 0;
};

/// The range in which the k-th key lies: `count` keys are in [low, high], and `wanted` of them are
/// among the k smallest.
struct PivotBracket {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};
  std::uint32_t count = 0;
  std::uint32_t wanted = 0;
  bool is_stalled = false;  ///< the previous pivot removed few keys

  /// The `left` keys up to `pivot` are all among the k smallest, so only the keys right of the
  /// pivot remain.
  __device__ void keep_left(std::uint64_t pivot, std::uint32_t left) {
    low = pivot + 1;
    is_stalled = left < count / 8;
    count -= left;
    wanted -= left;
  }
  /// The k-th key is among the `left` keys up to `pivot`, so only these remain.
  __device__ void discard_right(std::uint64_t pivot, std::uint32_t left) {
    high = pivot;
    is_stalled = left > count - count / 8;
    count = left;
  }
};

/// Returns the least key of a warp, in every lane.
__device__ __forceinline__ std::uint64_t least_in_warp(std::uint64_t key) {
  const std::uint32_t top = __reduce_min_sync(all_lanes, static_cast<std::uint32_t>(key >> 32));
  const std::uint32_t low = key >> 32 == top ? static_cast<std::uint32_t>(key) : ~0u;
  return std::uint64_t{top} << 32 | __reduce_min_sync(all_lanes, low);
}

/// Returns a pivot in [low, high). In the paper the pivot is a random element. Here it is a key
/// from a sample of 512 keys, chosen so that probably a little more than `wanted` keys are not
/// greater than the pivot. If the sample has no key of the range, or if the previous pivot removed
/// few keys, the pivot is the middle of the range. At most 64 middles are needed, whatever the
/// data. key_at(i) is key i of the sample, i < 512. Called by a whole warp; every lane has the
/// result.
template <class KeyAt>
__device__ std::uint64_t pivot_of(const PivotBracket& bracket, const KeyAt& key_at) {
  constexpr unsigned held_count = 16;
  const std::uint64_t middle = bracket.low + (bracket.high - bracket.low) / 2;
  if (bracket.is_stalled) return middle;
  std::uint64_t held[held_count];
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t complement_of_most = ~std::uint64_t{0};
  std::uint32_t count = 0;
#pragma unroll
  for (unsigned i = 0; i < held_count; ++i) {
    const std::uint64_t key = key_at(i * warp_lanes + threadIdx.x % warp_lanes);
    const bool is_in = key >= bracket.low && key <= bracket.high && key != ~std::uint64_t{0};
    held[i] = is_in ? key : ~std::uint64_t{0};
    least = min(least, held[i]);
    if (is_in) complement_of_most = min(complement_of_most, ~key);
    count += is_in ? 1 : 0;
  }
  count = __reduce_add_sync(all_lanes, count);
  if (count == 0) return middle;
  least = least_in_warp(least);
  std::uint64_t high = ~least_in_warp(complement_of_most);
  std::uint64_t low = least - 1;  // wraps only for key 0, which only a NaN has
  const float share = static_cast<float>(bracket.wanted) * static_cast<float>(count) /
                      static_cast<float>(bracket.count);
  const std::uint32_t rank =
      min(count, static_cast<std::uint32_t>(share + 3.0f * sqrtf(share) + 3.0f));
  std::uint32_t within = count;  // keys of the sample up to `high`: at least `rank`
  while (within > rank + rank / 8 && high - low > 1) {
    const std::uint64_t pivot = low + (high - low) / 2;
    std::uint32_t left = 0;
#pragma unroll
    for (unsigned i = 0; i < held_count; ++i) left += held[i] <= pivot ? 1 : 0;
    left = __reduce_add_sync(all_lanes, left);
    if (left >= rank) {
      high = pivot;
      within = left;
    } else {
      low = pivot;
    }
  }
  return min(max(high, bracket.low), bracket.high - 1);
}

/// What a block keeps in shared memory in addition to the keys that are sorted.
struct SelectShared {
  std::uint64_t pivot;
  std::uint32_t left;
  std::uint32_t right;
};

/// The paper's step in which lanes find the places of their keys. `lanes` is a ballot of the lanes
/// that have a key. lanes_before() returns the index of the calling lane's key among the keys of
/// the warp. In the paper one thread of a block adds up the counts of its warps. Here
/// reserve_places() adds each warp's count to `total`, which is in shared memory. place_by_ballot()
/// calls both functions. Called by whole warps.
__device__ __forceinline__ std::uint32_t lanes_before(unsigned lanes) {
  return static_cast<std::uint32_t>(__popc(lanes & ((1u << threadIdx.x % warp_lanes) - 1)));
}
__device__ __forceinline__ std::uint32_t reserve_places(std::uint32_t count, std::uint32_t& total) {
  std::uint32_t begin = 0;
  if (threadIdx.x % warp_lanes == 0) begin = atomicAdd(&total, count);
  return __shfl_sync(all_lanes, begin, 0);
}
__device__ __forceinline__ std::uint32_t place_by_ballot(unsigned lanes, std::uint32_t& total) {
  return reserve_places(static_cast<std::uint32_t>(__popc(lanes)), total) + lanes_before(lanes);
}

/// Returns an upper bound on the values of all keys up to `pivot`. `pivot` need not be the key of a
/// value.
__device__ __forceinline__ float largest_value_of(std::uint64_t pivot) {
  const std::uint32_t least = ~ordered_infinity;  // minus infinity as an ordered score
  return score_of_ordered(
      min(max(static_cast<std::uint32_t>(pivot >> 32), least), ordered_infinity));
}

/// Partitions a row of the matrix: counts the keys in [low, pivot] in shared.left, and writes the
/// first `room` of them to `to`. The keys right of the pivot stay in the row and are read again if
/// needed, which is rare with the pivots of pivot_of(). Columns are below 2^31, as row numbers are,
/// and have 32 bits: with 64-bit indices the loop runs out of registers and takes an eighth longer.
/// Called by the whole block.
template <unsigned threads>
__device__ void partition_row(const float* row, std::uint32_t columns, std::uint64_t low,
                              std::uint64_t pivot, std::uint64_t* to, std::uint32_t room,
                              SelectShared& shared) {
  constexpr unsigned quads = 4;
  constexpr unsigned in_flight = 4 * quads;
  const float pivot_value = largest_value_of(pivot);
  for (std::uint32_t begin = 0; begin < columns; begin += in_flight * threads) {
    const auto column_of = [&](unsigned i) {
      return begin + (i / 4 * threads + threadIdx.x) * 4 + i % 4;
    };
    float values[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; i += 4)
      *reinterpret_cast<float4*>(values + i) = four_values(row, columns, column_of(i));
    bool is_any = false;
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) is_any |= values[i] <= pivot_value;
    if (!any_in_warp(is_any)) continue;
    // Reserves entries for all keys at once, because each reservation takes long.
    unsigned lanes[in_flight];
    std::uint32_t count = 0;
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint64_t key = key_of(values[i], column_of(i));
      lanes[i] = __ballot_sync(all_lanes, values[i] <= pivot_value && column_of(i) < columns &&
                                              key >= low && key <= pivot);
      count += static_cast<std::uint32_t>(__popc(lanes[i]));
    }
    if (count == 0) continue;
    std::uint32_t place = reserve_places(count, shared.left);
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t own = place + lanes_before(lanes[i]);
      if ((lanes[i] >> threadIdx.x % warp_lanes & 1) != 0 && own < room)
        to[own] = key_of(values[i], column_of(i));
      place += static_cast<std::uint32_t>(__popc(lanes[i]));
    }
  }
}

/// Partitions keys as the paper does. Writes the keys up to `pivot` from the left end of `to` on,
/// and the other keys from the right end of `to` on. Called by the whole block.
template <unsigned threads>
__device__ void partition_keys(const std::uint64_t* from, std::uint32_t count, std::uint64_t pivot,
                               std::uint64_t* to, SelectShared& shared) {
  for (std::uint32_t begin = 0; begin < count; begin += threads) {
    const std::uint32_t at = begin + threadIdx.x;
    const std::uint64_t key = at < count ? from[at] : 0;
    const bool is_left = at < count && key <= pivot;
    const bool is_right = at < count && key > pivot;
    const std::uint32_t left = place_by_ballot(__ballot_sync(all_lanes, is_left), shared.left);
    const std::uint32_t right = place_by_ballot(__ballot_sync(all_lanes, is_right), shared.right);
    if (is_left) to[left] = key;
    if (is_right) to[count - 1 - right] = key;
  }
}

/// Resident blocks that the compiler plans registers for. ptxas refuses more than a multiprocessor
/// holds: 32 on GPUs 8.0, 9.0 and 10.0, 16 to 24 on the others.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
inline constexpr unsigned select_blocks_max = 32;
#else
inline constexpr unsigned select_blocks_max = 16;
#endif

/// Komarov et al. 2014, "GPU-Based Quick Multi-Select", algorithm 1: partitions a row by a pivot
/// again and again. The left side has the keys up to the pivot. If it has k or more keys, the right
/// side is discarded. Otherwise the whole left side belongs to the result. The kernel differs from
/// the paper in this: the loop runs in the kernel, not on the host; pivots come from samples; lanes
/// write neighbouring entries directly and not through shared memory, because caches make that
/// unnecessary; and the last keys, at most sort_room, are sorted, because lists are sorted here.
/// Keys are pairs (value, column) and all differ, so ties need no special case.
///
/// Grid: any number of blocks. A block has 32 threads (one warp for each row) or more. Blocks take
/// every gridDim.x-th row. 1024 threads on a multiprocessor keep enough reads in flight. Valid for
/// any columns and k <= sort_room. A warp sorts in registers: keys_each is warp_sort_each(k),
/// sort_room is 64 * keys_each, and the shared bytes are those of SelectShared and 256 * keys_each.
/// A block sorts in shared memory: keys_each is 0, and the shared bytes are those of SelectShared
/// and 8 * sort_room. Writes lists [row][k] or kth [row].
template <unsigned threads, unsigned keys_each>
__global__ void __launch_bounds__(threads, std::min(1024 / threads, select_blocks_max))
    quick_multiselect_kernel(const RowSelection selection, const PartitionRoom partitions) {
  static_assert(keys_each == 0 || threads == warp_lanes, "only a warp sorts in registers");
  extern __shared__ std::uint64_t sorted[];
  __shared__ SelectShared shared;
  const std::uint32_t k = selection.k;
  const std::uint32_t columns = selection.columns;
  const std::uint32_t room = partitions.room;
  std::uint64_t* const spare = partitions.keys + std::size_t{blockIdx.x} * 2 * room;
  const auto begin_partition = [&](const PivotBracket& bracket, const auto& key_at) {
    __syncthreads();  // all threads have read the results of the previous partition
    if (threadIdx.x < warp_lanes) {
      const std::uint64_t pivot = pivot_of(bracket, key_at);
      if (threadIdx.x == 0) shared = {pivot, 0, 0};
    }
    __syncthreads();
    return shared.pivot;
  };
  const auto keep = [&](const std::uint64_t* keys, std::uint32_t count, std::uint32_t kept) {
    for (std::uint32_t i = threadIdx.x; i < count; i += threads) sorted[kept + i] = keys[i];
  };

  for (std::uint32_t row = blockIdx.x; row < selection.rows; row += gridDim.x) {
    if (selection.counts != nullptr && selection.counts[row] <= selection.count_max) continue;
    const float* values = selection.values + row * selection.stride;
    std::uint32_t kept = 0;
    std::uint64_t* from = spare;
    PivotBracket bracket;
    bracket.count = columns;
    bracket.wanted = k;
    if (columns <= (keys_each > 0 ? keys_each * warp_lanes : partitions.sort_room)) {
      for (std::uint32_t i = threadIdx.x; i < columns; i += threads)
        sorted[i] = key_of(values[i], i);
      kept = columns;
      bracket.count = 0;
    }
    bool is_of_spare = false;  // whether to sample a left side that did not fit into `room`
    while (bracket.count > 0) {
      const std::uint64_t pivot = begin_partition(bracket, [&](std::uint32_t i) {
        if (is_of_spare) return spare[std::uint64_t{i} * room / 512];
        // Samples runs of eight neighbours, each a memory sector, from all over the row.
        const std::uint64_t at = std::uint64_t{i / 8} * columns / 64 + i % 8;
        return at < columns ? key_of(values[at], static_cast<std::uint32_t>(at))
                            : ~std::uint64_t{0};
      });
      partition_row<threads>(values, columns, bracket.low, pivot, spare, room, shared);
      __syncthreads();
      const std::uint32_t left = shared.left;
      is_of_spare = false;
      if (left < bracket.wanted) {
        keep(spare, left, kept);
        kept += left;
        bracket.keep_left(pivot, left);
        continue;
      }
      bracket.discard_right(pivot, left);
      if (left <= room) break;
      is_of_spare = true;
    }
    while (bracket.count > 0 && kept + bracket.count > partitions.sort_room) {
      const std::uint64_t pivot = begin_partition(
          bracket, [&](std::uint32_t i) { return from[std::uint64_t{i} * bracket.count / 512]; });
      std::uint64_t* const to = from < spare + room ? spare + room : spare;
      partition_keys<threads>(from, bracket.count, pivot, to, shared);
      __syncthreads();
      const std::uint32_t left = shared.left;
      if (left < bracket.wanted) {
        keep(to, left, kept);
        kept += left;
        bracket.keep_left(pivot, left);
        from = to + left;
      } else {
        bracket.discard_right(pivot, left);
        from = to;
      }
    }
    __syncthreads();
    if constexpr (keys_each > 0) {
      sort_least_of_warp<keys_each>(sorted, kept, from, kept + bracket.count);
      kept += bracket.count;
    } else {
      keep(from, bracket.count, kept);
      kept += bracket.count;
      std::uint32_t size = 2;
      while (size < kept) size *= 2;
      for (std::uint32_t i = kept + threadIdx.x; i < size; i += threads)
        sorted[i] = ~std::uint64_t{0};
      __syncthreads();
      sort_keys(sorted, size);
    }
    const std::uint32_t found = min(kept, k);
    const auto key_at = [&](std::uint32_t i) {
      if constexpr (keys_each > 0)
        return sorted[place_of_sorted<keys_each>(i)];
      else
        return sorted[i];
    };
    const auto value_of = [](std::uint64_t key) {
      return score_of_ordered(static_cast<std::uint32_t>(key >> 32));
    };
    if (selection.lists == nullptr) {
      if (threadIdx.x == 0)
        selection.kth[row] = found == k ? value_of(key_at(k - 1)) : CUDART_INF_F;
    } else {
      for (std::uint32_t i = threadIdx.x; i < k; i += threads) {
        VectorNeighbor entry = {CUDART_INF_F, no_row};
        if (i < found)
          entry = {value_of(key_at(i)),
                   selection.first_row + static_cast<std::uint32_t>(key_at(i))};
        selection.lists[std::size_t{row} * k + i] = entry;
      }
    }
    __syncthreads();  // the next row overwrites `sorted`
  }
}

}  // namespace starling::gpu
