// SPDX-License-Identifier: Apache-2.0
// Scores the candidates of the filter for few queries by the recipe. few_filter_launch.cu launches
// the kernel.
#pragma once

#include "starling/gpu/vectors/corpus/filter_interval.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/filter_scan.hpp"
#include "starling/gpu/vectors/scan/tensor_product.cuh"

namespace starling::gpu {

/// A block takes one candidate for each lane of a warp. All threads copy the candidates' rows to
/// shared memory, `groups` groups of each row at a time. Only the first warp sums, one candidate
/// for each lane, because a score is one chain of additions. A stage pads each row with one group,
/// so that lanes that read the same group of different rows touch all banks.
struct FewRescoreShape {
  static constexpr unsigned threads = 128;
  static constexpr unsigned groups = 16;
  static constexpr unsigned stages = 6;
  static constexpr unsigned stage_groups = warp_lanes * (groups + 1);
  /// Blocks for each query: enough for the usual number of candidates.
  static constexpr unsigned blocks = 16;
};

constexpr std::size_t few_rescore_shared_bytes(std::uint32_t group_count) {
  return (std::size_t{FewRescoreShape::stages} * FewRescoreShape::stage_groups + group_count) *
         sizeof(float4);
}

/// Replaces the score in each candidate's key by the recipe's score; candidates that the last bound
/// rules out get the key ~0. Grid: [query][FewRescoreShape::blocks]. Writes filter.counts, which
/// were 0. If any query has more than kept_max candidates, sets `undecided` instead, and the counts
/// stay 0. Shared bytes: few_rescore_shared_bytes().
template <bool is_dot>
__global__ void __launch_bounds__(FewRescoreShape::threads)
    few_rescore_kernel(const FewFilterScan scan) {
  using Shape = FewRescoreShape;
  constexpr Recipe recipe = is_dot ? Recipe::product : Recipe::squared_differences;
  extern __shared__ float4 shared_groups[];
  __shared__ std::uint32_t rows[warp_lanes];  // no_self: no candidate
  const FilterScan& filter = scan.filter;
  const std::uint32_t query = blockIdx.x;
  const unsigned lane = threadIdx.x % warp_lanes;
  const bool is_undecided =
      any_in_warp(lane < filter.query_count && scan.lists.counts[lane] > filter.kept_max);
  const std::uint32_t count = scan.lists.counts[query];
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    if (is_undecided)
      *filter.undecided = 1;
    else
      filter.counts[query] = count;
  }
  if (is_undecided) return;

  const std::uint32_t group_count = filter.rows.group_count;
  const std::uint32_t width = filter.rows.width;
  float4* query_groups = shared_groups + Shape::stages * Shape::stage_groups;
  auto* components = reinterpret_cast<float*>(query_groups);
  for (std::uint32_t j = threadIdx.x; j < group_count * 4; j += Shape::threads)
    components[j] =
        j < filter.dimension ? filter.components[std::size_t{query} * filter.dimension + j] : 0.0f;
  ShadowQuery shadow = filter.queries[query];
  shadow.reach =
      reach_of<is_dot>(filter.limits, shadow.error, score_of_ordered(scan.lists.bounds[query]));
  const std::uint32_t last =
      min(ordered_of(largest_score_above<is_dot>(filter.limits, shadow, *filter.corpus.frame)),
          ordered_infinity);
  std::uint64_t* keys = filter.keys + query * filter.room;
  const std::uint32_t parts = (group_count + Shape::groups - 1) / Shape::groups;
  const unsigned stages = shared_address(shared_groups);

  // Thread t copies rows t / groups + i * row_step, for i = 0 to thread_rows - 1.
  constexpr unsigned row_step = Shape::threads / Shape::groups;
  constexpr unsigned thread_rows = warp_lanes / row_step;
  const unsigned group_of_part = threadIdx.x % Shape::groups;
  for (std::uint32_t first = blockIdx.y * warp_lanes; first < count;
       first += Shape::blocks * warp_lanes) {
    __syncthreads();
    if (threadIdx.x < warp_lanes) {
      const std::uint64_t key = first + lane < count ? keys[first + lane] : ~std::uint64_t{0};
      rows[lane] = static_cast<std::uint32_t>(key >> 32) <= last
                       ? static_cast<std::uint32_t>(key) - filter.first_row
                       : no_self;
    }
    __syncthreads();
    const float4* from[thread_rows];  // group 0 of a row; null: no candidate
#pragma unroll
    for (unsigned i = 0; i < thread_rows; ++i) {
      const std::uint32_t row = rows[threadIdx.x / Shape::groups + i * row_step];
      from[i] = row == no_self ? nullptr
                               : filter.rows.groups +
                                     std::size_t{row / width} * group_count * width + row % width;
    }
    const auto copy_part_async = [&](std::uint32_t part) {
      const std::uint32_t group = part * Shape::groups + group_of_part;
      if (group < group_count) {
#pragma unroll
        for (unsigned i = 0; i < thread_rows; ++i) {
          const unsigned row = threadIdx.x / Shape::groups + i * row_step;
          const unsigned place = part % Shape::stages * Shape::stage_groups +
                                 row * (Shape::groups + 1) + group_of_part;
          if (from[i] != nullptr)
            copy_piece_async(stages + place * static_cast<unsigned>(sizeof(float4)),
                             from[i] + std::size_t{group} * width);
        }
      }
      commit_copies();  // even without a copy, because the wait below counts commits
    };
#pragma unroll
    for (unsigned part = 0; part + 1 < Shape::stages; ++part) copy_part_async(part);
    float sum = 0;
    for (std::uint32_t part = 0; part < parts; ++part) {
      wait_for_copies<Shape::stages - 2>();
      __syncthreads();  // this part has arrived, and no thread reads the previous part
      copy_part_async(part + Shape::stages - 1);
      if (threadIdx.x >= warp_lanes) continue;
      const float4* groups =
          shared_groups + part % Shape::stages * Shape::stage_groups + lane * (Shape::groups + 1);
      const float4* others = query_groups + part * Shape::groups;
      const std::uint32_t groups_here = min(group_count - part * Shape::groups, Shape::groups);
      if (groups_here == Shape::groups) {
#pragma unroll
        for (std::uint32_t group = 0; group < Shape::groups; ++group)
          sum = add_group<recipe>(others[group], groups[group], sum);
      } else {
        for (std::uint32_t group = 0; group < groups_here; ++group)
          sum = add_group<recipe>(others[group], groups[group], sum);
      }
    }
    if (threadIdx.x >= warp_lanes || first + lane >= count) continue;
    const std::uint32_t row = rows[lane];
    keys[first + lane] =
        row == no_self ? ~std::uint64_t{0} : key_of(score_of<recipe>(sum), filter.first_row + row);
  }
}

}  // namespace starling::gpu
