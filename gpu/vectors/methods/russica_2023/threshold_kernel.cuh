// SPDX-License-Identifier: Apache-2.0
// The three kernels that select from a matrix of scores by a cutoff: they find a cutoff for each
// query, drop all scores beyond it, and sort what is left. russica_method.cu launches them.
#pragma once

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/methods/method_keys.cuh"
#include "starling/gpu/vectors/methods/row_values.cuh"
#include "starling/gpu/vectors/methods/russica_2023/threshold_sample.hpp"

namespace starling::gpu {

struct ThresholdView {
  const float* matrix = nullptr;  ///< [query][stride]; infinity: not a neighbour
  std::uint64_t stride = 0;       ///< a multiple of 4
  std::uint32_t columns = 0;
  std::uint32_t first_row = 0;  ///< the number that column 0 has in keys and lists
  RowSample sample;
  std::uint64_t* cutoffs = nullptr;  ///< [query]: a key; no key of the k nearest is greater
  std::uint32_t* counts = nullptr;   ///< [query]: number of keys that pass; may exceed `room`
  std::uint64_t* kept = nullptr;     ///< [query][room]: keys that pass, in no order
  std::uint32_t room = 0;
  std::uint32_t subsets = 0;  ///< subsets of a query: columns / compact_subset, rounded up
  /// The most keys that are sorted at once: a power of two, at least k + select_chunk.
  std::uint32_t sort_room = 0;
  VectorNeighbor* lists = nullptr;  ///< [query][k]
  std::uint32_t k = 0;

  __device__ const float* row_of(std::uint32_t query) const { return matrix + query * stride; }

  /// Returns the key of a score of the matrix. Returns no_key if the score is infinity, which marks
  /// the query itself and columns beyond the last. No score of a pair is infinity.
  __device__ std::uint64_t key_of_column(float score, std::uint32_t column) const {
    return score < CUDART_INF_F ? key_of(score, first_row + column) : no_key;
  }
};

/// Returns the sum of the threads' numbers. `of_warps` is shared memory with an entry for each
/// warp. Called by the whole block; all threads have the result.
__device__ inline std::uint32_t sum_of_block(std::uint32_t number, std::uint32_t* of_warps) {
  const std::uint32_t of_warp = __reduce_add_sync(all_lanes, number);
  if (threadIdx.x % warp_lanes == 0) of_warps[threadIdx.x / warp_lanes] = of_warp;
  __syncthreads();
  std::uint32_t sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / warp_lanes; ++warp) sum += of_warps[warp];
  __syncthreads();  // the next call overwrites of_warps
  return sum;
}

/// Returns a key such that at least k and at most k + k / 8 of the block's keys are not greater. If
/// the block has fewer than k keys, returns a key that is greater than the key of every row, but
/// less than no_key. All keys differ, except no_key, which is not counted. Bisects the range of
/// keys, in at most 64 steps. Called by the whole block, whose threads have `count` keys each; all
/// threads have the result.
template <unsigned count>
__device__ std::uint64_t limit_of_block(const std::uint64_t (&keys)[count], std::uint32_t k,
                                        std::uint32_t* of_warps) {
  const auto count_within = [&](std::uint64_t limit) {
    std::uint32_t within = 0;
#pragma unroll
    for (unsigned i = 0; i < count; ++i) within += keys[i] <= limit ? 1 : 0;
    return sum_of_block(within, of_warps);
  };
  // Fewer than k keys are at most `low`, and `within` keys are at most `high`. No score has key 0.
  std::uint64_t low = 0;
  std::uint64_t high = no_key - 1;
  std::uint32_t within = count_within(high);
  while (within > k + k / 8 && high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint32_t up_to_middle = count_within(middle);
    if (up_to_middle >= k) {
      high = middle;
      within = up_to_middle;
    } else {
      low = middle;
    }
  }
  return high;
}

/// The cutoff of Russica & Tisato 2023, section 3.3. The paper suggests the average distance, which
/// may be less than the k-th least distance. Here the cutoff comes from a sample of the query's
/// scores. The sample is divided into groups, and no two groups share a column. The least keys of k
/// groups are k different keys of the row, so the k-th least key of the row is at most the largest
/// of these k keys, whatever the data are. Groups have nearly the same cutoff as single scores, and
/// their least keys fit registers even if the sample is the whole row.
///
/// Grid: one block for each query. A block has cutoff_threads_min to cutoff_threads_max threads, a
/// multiple of 32. A thread reads every blockDim.x-th quad of the sample. Column j of the thread's
/// quads i, i + 4, i + 8, ... is in its group 4 i + j, for i = 0 to 3. Shared bytes: 64. Thread 0
/// writes cutoffs [query] and sets counts [query] to 0. Valid for any columns and k. If fewer than
/// k groups have a score, every score passes.
__global__ void __launch_bounds__(ThresholdTuning::cutoff_threads_max)
    threshold_cutoff_kernel(const ThresholdView view) {
  constexpr unsigned quads_in_flight = ThresholdTuning::quads_in_flight;
  constexpr unsigned quad = ThresholdTuning::quad;
  __shared__ std::uint32_t of_warps[ThresholdTuning::cutoff_threads_max / warp_lanes];
  const std::uint32_t query = blockIdx.x;
  const float* row = view.row_of(query);
  std::uint64_t least[ThresholdTuning::groups];
#pragma unroll
  for (std::uint64_t& key : least) key = no_key;
  for (std::uint32_t begin = threadIdx.x; begin < view.sample.strata;
       begin += quads_in_flight * blockDim.x) {
    std::uint64_t columns[quads_in_flight];
    float4 scores[quads_in_flight];
#pragma unroll
    for (unsigned i = 0; i < quads_in_flight; ++i) {
      const std::uint32_t stratum = begin + i * blockDim.x;
      // After the last stratum, reads beyond the last column, where scores are infinity.
      columns[i] = stratum < view.sample.strata ? std::uint64_t{quad} * view.sample.quad_of(stratum)
                                                : view.stride;
      scores[i] = four_values(row, view.columns, columns[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < quads_in_flight; ++i) {
      const float of_quad[quad] = {scores[i].x, scores[i].y, scores[i].z, scores[i].w};
      const auto column = static_cast<std::uint32_t>(columns[i]);
#pragma unroll
      for (unsigned j = 0; j < quad; ++j) {
        std::uint64_t& of_group = least[i * quad + j];
        of_group = min(of_group, view.key_of_column(of_quad[j], column + j));
      }
    }
  }
  const std::uint64_t cutoff = limit_of_block(least, view.k, of_warps);
  if (threadIdx.x == 0) {
    view.cutoffs[query] = cutoff;
    view.counts[query] = 0;
  }
}

/// The stream compaction of Russica & Tisato 2023, section 3.3: keeps the keys up to the query's
/// cutoff. Grid: queries * subsets blocks, one block for each subset of each query's columns; a
/// thread has compact_columns columns. Threads reserve places in their block's output, and the
/// block reserves places in the query's array, so the array has no order. Shared bytes: 8. Adds to
/// counts [query], which is 0 before; writes kept [query] as far as there is room.
__global__ void __launch_bounds__(ThresholdTuning::compact_threads)
    threshold_compact_kernel(const ThresholdView view) {
  constexpr unsigned held = ThresholdTuning::compact_columns;
  constexpr unsigned quad = ThresholdTuning::quad;
  __shared__ std::uint32_t block_count;
  __shared__ std::uint32_t block_begin;
  const std::uint32_t query = blockIdx.x / view.subsets;
  const std::uint32_t begin =
      blockIdx.x % view.subsets * ThresholdTuning::compact_subset + threadIdx.x * quad;
  const auto column_of = [&](unsigned i) {
    return begin + i / quad * ThresholdTuning::compact_threads * quad + i % quad;
  };
  const float* row = view.row_of(query);
  const std::uint64_t cutoff = view.cutoffs[query];
  float scores[held];
#pragma unroll
  for (unsigned i = 0; i < held; i += quad)
    *reinterpret_cast<float4*>(scores + i) = four_values(row, view.columns, column_of(i));
  if (threadIdx.x == 0) block_count = 0;
  __syncthreads();

  std::uint32_t passes = 0;  // bit i: column i of the thread passes
#pragma unroll
  for (unsigned i = 0; i < held; ++i)
    if (view.key_of_column(scores[i], column_of(i)) <= cutoff) passes |= 1u << i;
  std::uint32_t place = 0;
  if (passes != 0) place = atomicAdd(&block_count, static_cast<std::uint32_t>(__popc(passes)));
  __syncthreads();
  if (threadIdx.x == 0 && block_count > 0)
    block_begin = atomicAdd(view.counts + query, block_count);
  __syncthreads();
  if (passes == 0) return;
  place += block_begin;
  std::uint64_t* kept = view.kept + std::size_t{query} * view.room;
#pragma unroll
  for (unsigned i = 0; i < held; ++i) {
    if ((passes >> i & 1) == 0) continue;
    if (place < view.room) kept[place] = view.key_of_column(scores[i], column_of(i));
    ++place;
  }
}

/// Copies keys up to `limit` to `keys`, in shared memory, and returns how many there are. Keys come
/// from key_at(i), i < count. Whenever less than a chunk of room is left, sorts the keys and keeps
/// the k least, which lowers the limit. So the result may lack keys, but none of the k least.
/// Called by the whole block; all threads have the result and see `keys`. `filled` is in shared
/// memory.
template <class KeyAt>
__device__ std::uint32_t gather_nearest(const ThresholdView& view, std::uint32_t count,
                                        std::uint64_t limit, std::uint64_t* keys,
                                        std::uint32_t& filled, const KeyAt& key_at) {
  constexpr unsigned in_flight = ThresholdTuning::select_in_flight;
  constexpr std::uint32_t chunk = ThresholdTuning::select_chunk;
  if (threadIdx.x == 0) filled = 0;
  __syncthreads();
  std::uint32_t gathered = 0;
  for (std::uint32_t begin = 0; begin < count; begin += chunk) {
    std::uint64_t read[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t at = begin + i * ThresholdTuning::select_threads + threadIdx.x;
      read[i] = at < count ? key_at(at) : no_key;
    }
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i)
      if (read[i] <= limit) keys[atomicAdd(&filled, 1u)] = read[i];
    __syncthreads();
    gathered = filled;
    __syncthreads();  // all threads have read `filled`
    const bool is_last = begin + chunk >= count;
    if (is_last || gathered + chunk <= view.sort_room) continue;
    // More than sort_room - chunk keys have been gathered, and that is at least k.
    sort_list(keys, gathered);
    gathered = view.k;
    limit = keys[view.k - 1];
    if (threadIdx.x == 0) filled = view.k;
    __syncthreads();
  }
  return gathered;
}

/// Selects from the array of Russica & Tisato 2023, section 3.3, which compaction made shorter:
/// sorts a query's keys and writes the k least to its list. If more keys passed than there is room
/// for, reads the query's row of the matrix instead, which takes longer but works for any data.
/// Grid: one block for each query. Shared bytes: 8 * sort_room, dynamic, and 4. Writes lists
/// [query][k], with {infinity, no_row} after the last neighbour. Valid for any columns, and for k
/// up to sort_room - select_chunk.
__global__ void __launch_bounds__(ThresholdTuning::select_threads)
    threshold_select_kernel(const ThresholdView view) {
  extern __shared__ std::uint64_t keys[];
  __shared__ std::uint32_t filled;
  const std::uint32_t query = blockIdx.x;
  const std::uint32_t count = view.counts[query];
  const std::uint64_t cutoff = view.cutoffs[query];
  const std::uint64_t* kept = view.kept + std::size_t{query} * view.room;
  const float* row = view.row_of(query);
  const std::uint32_t gathered =
      count <= view.room
          ? gather_nearest(view, count, cutoff, keys, filled,
                           [&](std::uint32_t i) { return kept[i]; })
          : gather_nearest(view, view.columns, cutoff, keys, filled, [&](std::uint32_t column) {
              return view.key_of_column(row[column], column);
            });
  sort_list(keys, gathered);
  for (std::uint32_t i = threadIdx.x; i < view.k; i += ThresholdTuning::select_threads)
    view.lists[std::size_t{query} * view.k + i] = neighbor_of_key(i < gathered ? keys[i] : no_key);
}

}  // namespace starling::gpu
