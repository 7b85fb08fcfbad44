// SPDX-License-Identifier: Apache-2.0
// The kernel of the scan for many queries. Tiles of rows and queries go through shared memory, and
// sums stay in registers. many_queries_launch.cu launches it.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "starling/gpu/vectors/scan/candidates.cuh"

namespace starling::gpu {

/// How the eight warps of a block share a tile. Each warp has query_tile_rows queries and `panels`
/// panels of rows. Warps with equal warp / query_warps have the same rows, and warps with equal
/// warp % query_warps have the same queries. All lanes of a warp have the same queries, which they
/// read from shared memory by broadcast, and each lane has one row of each panel. For four
/// components of all its pairs, a lane makes panels + query_tile_rows loads and panels *
/// query_tile_rows * 8 operations.
template <unsigned panels_, unsigned query_warps_>
struct TileShape {
  static constexpr unsigned warps = 8;
  static constexpr unsigned threads = warps * warp_lanes;
  static constexpr unsigned panels = panels_;  ///< panels of a warp
  /// Number of warps of a block that have different queries.
  static constexpr unsigned query_warps = query_warps_;
  static constexpr unsigned tile_panels = panels * (warps / query_warps);
  static constexpr unsigned tile_queries = query_warps * query_tile_rows;
  /// Blocks that run on a multiprocessor at once: as many as registers allow.
  static constexpr unsigned blocks = panels >= 4 ? 2 : 3;
  static constexpr unsigned groups = 4;  ///< groups of a stage
  static constexpr unsigned stages = 3;
  /// Room for the rows of a stage, in float4.
  static constexpr unsigned stage_rows = tile_panels * groups * panel_rows;
  static constexpr unsigned stage_groups = stage_rows + tile_queries * groups;
  static constexpr std::size_t shared_bytes = stages * stage_groups * sizeof(float4);
};

/// Which tiles of rows a block visits for its query tile: every `splits`-th position of a walk over
/// all tiles of rows. Position i of the walk is tile i * step % tile_count (see walk_step()).
struct TileWalk {
  std::uint32_t tile_count = 0;  ///< number of tiles of rows
  std::uint32_t query_tiles = 0;
  std::uint32_t splits = 0;  ///< blocks for each query tile; at most tile_count
  std::uint32_t step = 0;
};

/// Copies groups of one tile of rows and one tile of queries, from group `begin` on, into a stage.
/// Called by all threads of the block; each copy of a thread is 16 bytes. Groups and panels that do
/// not exist are not written.
template <class Shape>
__device__ __forceinline__ void copy_stage_async(const VectorScan& scan, float4* stage,
                                                 std::uint32_t first_panel,
                                                 std::uint32_t first_query_panel,
                                                 std::uint32_t begin) {
  const std::uint32_t group_count = scan.corpus.group_count;
  constexpr unsigned panel_groups = Shape::groups * panel_rows;
#pragma unroll
  for (unsigned i = threadIdx.x; i < Shape::stage_rows; i += Shape::threads) {
    const std::uint32_t panel = first_panel + i / panel_groups;
    const std::uint32_t group = begin + i % panel_groups / panel_rows;
    if (group < group_count && panel < scan.panel_begin + scan.panel_count)
      __pipeline_memcpy_async(stage + i,
                              scan.corpus.groups +
                                  (std::size_t{panel} * group_count + group) * panel_rows +
                                  i % panel_rows,
                              sizeof(float4));
  }
  constexpr unsigned query_groups = Shape::groups * query_tile_rows;
#pragma unroll
  for (unsigned i = threadIdx.x; i < Shape::tile_queries * Shape::groups; i += Shape::threads) {
    const std::uint32_t panel = first_query_panel + i / query_groups;
    const std::uint32_t group = begin + i % query_groups / query_tile_rows;
    if (group < group_count && panel * query_tile_rows < scan.query_count)
      __pipeline_memcpy_async(stage + Shape::stage_rows + i,
                              scan.queries.groups +
                                  (std::size_t{panel} * group_count + group) * query_tile_rows +
                                  i % query_tile_rows,
                              sizeof(float4));
  }
}

/// Adds the groups of a stage to the sums of a warp's pairs.
template <class Shape, Recipe recipe>
__device__ __forceinline__ void add_stage(const float4* stage_rows, const float4* stage_queries,
                                          std::uint32_t groups,
                                          float (&sums)[Shape::panels][query_tile_rows]) {
#pragma unroll 1
  for (std::uint32_t group = 0; group < groups; ++group) {
    float4 row[Shape::panels];
#pragma unroll
    for (unsigned panel = 0; panel < Shape::panels; ++panel)
      row[panel] = stage_rows[(panel * Shape::groups + group) * panel_rows];
#pragma unroll
    for (unsigned query = 0; query < query_tile_rows; ++query) {
      const float4 other = stage_queries[group * query_tile_rows + query];
#pragma unroll
      for (unsigned panel = 0; panel < Shape::panels; ++panel)
        sums[panel][query] = add_group<recipe>(other, row[panel], sums[panel][query]);
    }
  }
}

/// Scores tiles of rows against tiles of queries and appends candidates to scan.lists. Grid:
/// query_tiles * splits blocks. Block b has query tile b % query_tiles, so blocks that run together
/// read the same rows. TileWalk says which tiles of rows a block visits. A lane has Shape::panels
/// rows and the query_tile_rows queries of its warp. The stages of all tiles of a block form one
/// sequence: while the candidates of one tile are appended, the stages of the next tile are being
/// copied. scan.queries.width must be query_tile_rows. Shared bytes: Shape::shared_bytes.
template <class Shape, Recipe recipe>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    vector_tile_kernel(const VectorScan scan, const TileWalk walk) {
  extern __shared__ float4 shared_stages[];
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t query_tile = blockIdx.x % walk.query_tiles;
  const std::uint32_t split = blockIdx.x / walk.query_tiles;
  static_assert(gate_queries % Shape::tile_queries == 0);
  if (scan.gate != nullptr && scan.gate[query_tile * Shape::tile_queries / gate_queries] == 0)
    return;
  const std::uint32_t first_query_panel = query_tile * Shape::query_warps;
  const std::uint32_t first_query =
      (first_query_panel + warp % Shape::query_warps) * query_tile_rows;
  const std::uint32_t warp_panel = warp / Shape::query_warps * Shape::panels;

  const std::uint32_t stages_of_tile =
      (scan.corpus.group_count + Shape::groups - 1) / Shape::groups;
  const std::uint32_t tiles = (walk.tile_count - 1 - split) / walk.splits + 1;
  const auto panel_of = [&](std::uint32_t number) {  // first panel of the block's tile
    const std::uint64_t i = split + std::uint64_t{number} * walk.splits;
    return scan.panel_begin +
           static_cast<std::uint32_t>(i * walk.step % walk.tile_count) * Shape::tile_panels;
  };

  std::uint32_t copy_tile = 0;
  std::uint32_t copy_stage = 0;
  std::uint32_t copy_panel = panel_of(0);
  const auto copy_next_async = [&](unsigned into) {
    if (copy_tile < tiles) {
      copy_stage_async<Shape>(scan, shared_stages + into * Shape::stage_groups, copy_panel,
                              first_query_panel, copy_stage * Shape::groups);
      if (++copy_stage == stages_of_tile) {
        copy_stage = 0;
        if (++copy_tile < tiles) copy_panel = panel_of(copy_tile);
      }
    }
    __pipeline_commit();  // even without a copy, because the wait below counts commits
  };
#pragma unroll
  for (unsigned i = 0; i + 1 < Shape::stages; ++i) copy_next_async(i);

  unsigned at = 0;
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    const float bound = bound_of_lane<query_tile_rows>(scan, first_query);
    float sums[Shape::panels][query_tile_rows] = {};
#pragma unroll 1
    for (std::uint32_t stage = 0; stage < stages_of_tile; ++stage) {
      __pipeline_wait_prior(Shape::stages - 2);
      __syncthreads();  // this stage has arrived, and no thread reads the previous one
      copy_next_async(at == 0 ? Shape::stages - 1 : at - 1);
      const float4* groups = shared_stages + at * Shape::stage_groups;
      add_stage<Shape, recipe>(
          groups + warp_panel * Shape::groups * panel_rows + lane,
          groups + Shape::stage_rows + warp % Shape::query_warps * Shape::groups * query_tile_rows,
          min(Shape::groups, scan.corpus.group_count - stage * Shape::groups), sums);
      at = at + 1 == Shape::stages ? 0 : at + 1;
    }
    const std::uint32_t first_panel = panel_of(tile) + warp_panel;
    std::uint32_t rows[Shape::panels];
#pragma unroll
    for (unsigned panel = 0; panel < Shape::panels; ++panel) {
      rows[panel] = (first_panel + panel) * panel_rows + lane;
      // The part of a tile beyond the scan's panels was never copied.
      const bool is_there = first_panel + panel < scan.panel_begin + scan.panel_count;
#pragma unroll
      for (unsigned query = 0; query < query_tile_rows; ++query)
        sums[panel][query] = is_there ? score_of<recipe>(sums[panel][query]) : CUDART_INF_F;
      if (!is_there) rows[panel] = no_row;
    }
    offer_scores(scan, sums, rows, first_query, bound);
    if (!is_time_to_renew(tile + 1) || tile + 1 == tiles) continue;
    // The warps that have the same queries share the work.
    for (std::uint32_t i = warp / Shape::query_warps; i < query_tile_rows;
         i += Shape::warps / Shape::query_warps)
      if (first_query + i < scan.query_count) renew_bound(scan.lists, first_query + i);
  }
}

}  // namespace starling::gpu
