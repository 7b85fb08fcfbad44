// SPDX-License-Identifier: Apache-2.0
// The kernels of the filter that run after the product. One runs after each phase: it lowers the
// bounds and drops the candidates beyond them. The other runs after the last phase: it scores the
// remaining candidates by the recipe. filter_launch.cu launches them.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/filter_interval.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Sums numbers over all threads of a block, with one barrier for each sum. Called by the whole
/// block; all threads get the sum.
struct BlockSums {
  std::uint32_t* sums;  ///< [3] in shared memory, all 0 at first
  unsigned turn = 0;

  __device__ std::uint32_t of(std::uint32_t value) {
    value = __reduce_add_sync(all_lanes, value);
    if (threadIdx.x % warp_lanes == 0) atomicAdd(sums + turn, value);
    if (threadIdx.x == 0) sums[(turn + 1) % 3] = 0;  // last read before the previous barrier
    __syncthreads();
    const std::uint32_t sum = sums[turn];
    turn = (turn + 1) % 3;
    return sum;
  }
};

/// Lowers the bound of each query and drops the candidates that are certainly beyond it. Grid: one
/// block for each query. The new bound is the k-th least score_above() of the candidates, or a
/// little more. Up to `room` scores are held in shared memory (4 * room bytes). If there are more,
/// all scores are read again for each count. The first phase does not write `counts`; after it
/// `appended` is the length of all lists. After the other phases `appended` is 0. Writes keys,
/// counts and the queries' reach. Sets `undecided` if more than kept_max candidates remain.
template <bool is_dot, std::uint32_t room, unsigned threads>
__global__ void __launch_bounds__(threads)
    vector_narrow_kernel(const FilterScan scan, std::uint32_t appended) {
  constexpr std::uint32_t slack_share = 32;  // a bound may admit k + k / 32 candidates
  __shared__ std::uint32_t held[room];
  __shared__ std::uint32_t sums[3];
  __shared__ std::uint32_t lowest;
  __shared__ std::uint32_t highest;
  __shared__ std::uint32_t kept;
  const std::uint32_t query = blockIdx.x;
  // Other blocks may set `undecided` right now, but all threads of this block must see one value.
  if (__syncthreads_or(static_cast<int>(scan.undecided[query / filter_queries])) != 0) return;
  const std::uint32_t count = appended > 0 ? appended : scan.counts[query];
  std::uint64_t* keys = scan.keys + query * scan.room;
  if (threadIdx.x < 3) sums[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    lowest = ~std::uint32_t{0};
    highest = 0;
    kept = 0;
  }
  __syncthreads();
  BlockSums block = {sums};
  const bool is_held = count <= room;
  std::uint32_t low = ~std::uint32_t{0};
  std::uint32_t high = 0;
  std::uint32_t finite = 0;
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < count; i += threads) {
    const auto value = static_cast<std::uint32_t>(keys[i] >> 32);
    if (is_held) held[i] = value;
    low = min(low, value);
    high = value < ordered_infinity ? max(high, value) : high;
    finite += value < ordered_infinity ? 1 : 0;
  }
  low = __reduce_min_sync(all_lanes, low);
  high = __reduce_max_sync(all_lanes, high);
  if (threadIdx.x % warp_lanes == 0) {
    atomicMin(&lowest, low);
    atomicMax(&highest, high);
  }
  std::uint32_t within = block.of(finite);
  low = lowest > 0 ? lowest - 1 : 0;
  high = highest;
  const auto count_within = [&](std::uint32_t bound) {
    std::uint32_t sum = 0;
    if (is_held)
      for (std::uint32_t i = threadIdx.x; i < count; i += threads) sum += held[i] <= bound ? 1 : 0;
    else
      for (std::uint32_t i = threadIdx.x; i < count; i += threads)
        sum += static_cast<std::uint32_t>(keys[i] >> 32) <= bound ? 1 : 0;
    return block.of(sum);
  };
  float bound = CUDART_INF_F;
  if (within >= scan.k) {
    while (within > scan.k + scan.k / slack_share && high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      const std::uint32_t sum = count_within(middle);
      if (sum >= scan.k) {
        high = middle;
        within = sum;
      } else {
        low = middle;
      }
    }
    bound = score_of_ordered(high);
  }

  ShadowQuery shadow = scan.queries[query];
  shadow.reach = fminf(shadow.reach, reach_of<is_dot>(scan.limits, shadow.error, bound));
  const float beyond = largest_score_above<is_dot>(scan.limits, shadow, *scan.corpus.frame);
  const std::uint32_t last = min(ordered_of(beyond), ordered_infinity);
  constexpr unsigned in_flight = 4;
  for (std::uint32_t begin = 0; begin < count; begin += in_flight * threads) {
    std::uint64_t read[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t at = begin + i * threads + threadIdx.x;
      read[i] = at < count ? keys[at] : ~std::uint64_t{0};
    }
    __syncthreads();  // the writes below go in front of all keys not read yet
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i)
      if (static_cast<std::uint32_t>(read[i] >> 32) <= last) keys[atomicAdd(&kept, 1u)] = read[i];
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  scan.counts[query] = kept;
  scan.queries[query].reach = shadow.reach;
  if (kept > scan.kept_max) scan.undecided[query / filter_queries] = 1;
}

/// Replaces the score in each candidate's key by the recipe's score. Grid: one block for each
/// query; its threads take the candidates in turn. Lists of queries in undecided tiles become
/// empty. Shared bytes: 16 for each group of a query.
template <bool is_dot, unsigned threads>
__global__ void __launch_bounds__(threads) vector_rescore_kernel(const FilterScan scan) {
  extern __shared__ float4 query_groups[];
  const std::uint32_t query = blockIdx.x;
  if (scan.undecided[query / filter_queries] != 0) {
    if (threadIdx.x == 0) scan.counts[query] = 0;
    return;
  }
  const std::uint32_t group_count = scan.rows.group_count;
  const std::uint32_t width = scan.rows.width;
  auto* components = reinterpret_cast<float*>(query_groups);
  for (std::uint32_t j = threadIdx.x; j < group_count * 4; j += threads)
    components[j] =
        j < scan.dimension ? scan.components[std::size_t{query} * scan.dimension + j] : 0.0f;
  __syncthreads();
  constexpr Recipe recipe = is_dot ? Recipe::product : Recipe::squared_differences;
  const std::uint32_t count = scan.counts[query];
  std::uint64_t* keys = scan.keys + query * scan.room;
  for (std::uint32_t i = threadIdx.x; i < count; i += threads) {
    const auto number = static_cast<std::uint32_t>(keys[i]);
    const std::uint32_t row = number - scan.first_row;
    const float4* groups =
        scan.rows.groups + std::size_t{row / width} * group_count * width + row % width;
    float sum = 0;
#pragma unroll 8
    for (std::uint32_t group = 0; group < group_count; ++group)
      sum = add_group<recipe>(query_groups[group], __ldg(groups + std::size_t{group} * width), sum);
    keys[i] = key_of(score_of<recipe>(sum), number);
  }
}

}  // namespace starling::gpu
