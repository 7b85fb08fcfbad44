// SPDX-License-Identifier: Apache-2.0
// The kernels of a store. They write rows in place, read rows back, and match rows against the
// score limits of queries. store_launch.cu launches them.
#pragma once

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/store_launch.hpp"

namespace starling::gpu {

/// Writes `rows` into `groups`, which holds panels of panel_rows rows. Dead rows become NaN. Rows
/// with slot no_slot are left out. Grid: one thread for each group of each row. Neighbouring
/// threads have neighbouring groups of a row, so they read neighbouring components.
__global__ void vector_write_rows_kernel(const AppliedRows rows, float4* groups,
                                         std::uint32_t group_count) {
  const std::uint64_t at = thread_index();
  if (at >= std::uint64_t{rows.count} * group_count) return;
  const auto i = static_cast<std::uint32_t>(at / group_count);
  const auto group = static_cast<std::uint32_t>(at % group_count);
  const bool is_alive = (rows.alive[i / 64] >> i % 64 & 1) != 0;
  const float* from = rows.components + std::size_t{i} * rows.dimension + group * 4;
  float packed[4] = {};
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    if (!is_alive)
      packed[j] = CUDART_NAN_F;
    else if (group * 4 + j < rows.dimension)
      packed[j] = from[j];
  }
  const std::uint32_t to = rows.slots == nullptr ? i : rows.slots[i];
  if (to == no_slot) return;
  groups[(std::size_t{to / panel_rows} * group_count + group) * panel_rows + to % panel_rows] =
      float4{packed[0], packed[1], packed[2], packed[3]};
}

/// Copies row slots[i] of `panels` to row i of components [count][dimension]. If slots[i] is
/// no_slot, row i is left as it is. Grid: one thread for each component.
__global__ void vector_gather_rows_kernel(const PanelsView panels, const Slot* slots,
                                          std::uint32_t count, std::uint32_t dimension,
                                          float* components) {
  const std::uint64_t at = thread_index();
  if (at >= std::uint64_t{count} * dimension) return;
  const Slot slot = slots[at / dimension];
  if (slot == no_slot) return;
  const auto component = static_cast<std::uint32_t>(at % dimension);
  const std::size_t group =
      (std::size_t{slot / panels.width} * panels.group_count + component / 4) * panels.width +
      slot % panels.width;
  components[at] = reinterpret_cast<const float*>(panels.groups + group)[component % 4];
}

struct NearShape {
  static constexpr unsigned threads = 256;
  static constexpr unsigned warps = threads / warp_lanes;
  static constexpr unsigned queries = query_tile_rows;
  /// Groups of each query that are in shared memory at a time.
  static constexpr unsigned groups = 32;
};

/// Appends a match to scan.matches for each query and each row that the query's filter allows, if
/// their score is at most the query's scan.scores_max. Grid: (panels / warps, tiles of queries). A
/// block has a tile of queries and `warps` panels of rows. Each lane has one row and scores the row
/// for all queries of the tile. All lanes of a warp read a query's components from shared memory at
/// once. Shared bytes: queries * groups * 16. A NaN score is never a match.
template <Recipe recipe>
__global__ void __launch_bounds__(NearShape::threads) vector_near_kernel(const NearScan scan) {
  constexpr unsigned queries = NearShape::queries;
  __shared__ float4 stage[NearShape::groups * queries];
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t panel = blockIdx.x * NearShape::warps + threadIdx.x / warp_lanes;
  const std::uint32_t row = panel * panel_rows + lane;
  const std::uint32_t group_count = scan.rows.group_count;
  const bool is_there = row < scan.row_count;
  const float4* from =
      scan.rows.groups + (is_there ? std::size_t{panel} * group_count * panel_rows + lane : 0);
  const float4* queries_from =
      scan.queries.groups + std::size_t{blockIdx.y} * group_count * queries;
  float sums[queries] = {};
  for (std::uint32_t begin = 0; begin < group_count; begin += NearShape::groups) {
    const std::uint32_t groups = min(NearShape::groups, group_count - begin);
    __syncthreads();  // no thread reads the previous groups any more
    for (std::uint32_t i = threadIdx.x; i < groups * queries; i += NearShape::threads)
      stage[i] = queries_from[std::size_t{begin} * queries + i];
    __syncthreads();
#pragma unroll 2
    for (std::uint32_t group = 0; group < groups; ++group) {
      const float4 of_row = from[std::size_t{begin + group} * panel_rows];
#pragma unroll
      for (unsigned query = 0; query < queries; ++query)
        sums[query] = add_group<recipe>(stage[group * queries + query], of_row, sums[query]);
    }
  }
  const Slot slot = !is_there ? no_slot : scan.slots == nullptr ? row : scan.slots[row];
#pragma unroll
  for (unsigned i = 0; i < queries; ++i) {
    const std::uint32_t query = blockIdx.y * queries + i;
    if (query >= scan.query_count) break;
    const float score = score_of<recipe>(sums[i]);
    bool is_near = is_there && score <= scan.scores_max[query];
    if (is_near) {
      const RowFilter filter = scan.filters[query];
      is_near =
          slot != filter.self &&
          (filter.mask == RowFilter::no_mask ||
           (scan.masks.words[filter.mask * scan.masks.words_each + row / 64] >> row % 64 & 1) != 0);
    }
    const unsigned lanes = __ballot_sync(all_lanes, is_near);
    if (lanes == 0) continue;
    unsigned long long place = 0;
    if (lane == 0)
      place = atomicAdd(scan.match_count, static_cast<unsigned long long>(__popc(lanes)));
    place = __shfl_sync(all_lanes, place, 0) +
            static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
    if (is_near && place < scan.room) scan.matches[place] = {query, {score, slot}};
  }
}

}  // namespace starling::gpu
