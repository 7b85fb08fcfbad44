// SPDX-License-Identifier: Apache-2.0
// The kernels of the filter for few queries. The filter reads each row's shadow once, from memory
// into registers, and multiplies it with the shadows of all queries on the tensor cores. Rows that
// may be within a query's bound become candidates. The kernel of few_rescore_kernel.cuh scores the
// candidates by the recipe. few_filter_launch.cu launches all these kernels.
#pragma once

#include <cooperative_groups.h>

#include "starling/gpu/vectors/corpus/filter_interval.cuh"
#include "starling/gpu/vectors/corpus/shadow_rows.cuh"
#include "starling/gpu/vectors/scan/candidates.cuh"
#include "starling/gpu/vectors/scan/filter_scan.hpp"
#include "starling/gpu/vectors/scan/panel_walk.cuh"
#include "starling/gpu/vectors/scan/tensor_product.cuh"

namespace starling::gpu {

enum class FewFilterPass {
  together,  ///< at most one panel for each warp; all blocks run at once
  sample,    ///< the first panel of each warp; writes slots only
  all,       ///< all panels, after a sample
};

/// A warp has a panel of 32 rows: two tiles of 16 rows. While it multiplies a slice of the panel,
/// it loads the next slice, so the warps of a multiprocessor have 48 KB of loads in flight.
struct FewFilterShape {
  static constexpr unsigned threads = 256;
  static constexpr unsigned warps = threads / warp_lanes;
  static constexpr unsigned row_tiles = panel_rows / 16;
  /// Loads that a lane makes for a slice of a panel.
  static constexpr unsigned loads = panel_rows / 8;
};

/// Returns the number of blocks that run on a multiprocessor at once. With four tiles of queries,
/// three blocks have too few registers to loop over panels.
constexpr unsigned few_filter_blocks(FewFilterPass pass, unsigned query_tiles) {
  return query_tiles == 4 && pass == FewFilterPass::all ? 2 : 3;
}

/// Returns the kernel's shared bytes: the norms and shadows of all queries.
constexpr std::size_t few_filter_shared_bytes(unsigned query_tiles, std::uint32_t stride) {
  return query_tiles * 8 * (stride * sizeof(std::uint16_t) + sizeof(ShadowQuery));
}

/// Prepares a scan: makes the shadows of the queries, and empties the filter's lists. Grid: one
/// block for each query, padding queries of the tiles included.
__global__ void __launch_bounds__(block_threads) few_filter_begin_kernel(const FewFilterScan scan) {
  const FilterScan& filter = scan.filter;
  write_query_shadow<block_threads>(filter.components, filter.query_count, filter.dimension,
                                    filter.corpus, const_cast<std::uint16_t*>(filter.query_halves),
                                    filter.queries);
  const std::uint32_t query = blockIdx.x;
  if (query >= filter.query_count) return;
  if (threadIdx.x == 0) {
    scan.lists.counts[query] = 0;
    scan.lists.bounds[query] = ordered_infinity;
    filter.undecided[query / filter_queries] = 0;
  }
  for (std::uint32_t slot = threadIdx.x; slot < scan.lists.slot_count; slot += block_threads)
    scan.lists.slots[std::size_t{query} * scan.lists.slot_count + slot] = ~std::uint32_t{0};
}

/// A lane's sums for one panel. The registers of a product determine which sums a lane has: lane l
/// has the sums of rows l / 4 and l / 4 + 8 of each tile of rows with queries 2 * (l % 4) and
/// 2 * (l % 4) + 1 of each tile of queries.
template <unsigned query_tiles>
struct FewFilterSums {
  float of[FewFilterShape::row_tiles][query_tiles][4] = {};

  /// Returns the sum of the lane's row `load` and the lane's query `query`. The query is in tile
  /// query / 2.
  __device__ __forceinline__ float at(unsigned load, unsigned query) const {
    return of[load / 2][query / 2][load % 2 * 2 + query % 2];
  }
};

/// Returns the index in the scan of the lane's query `query`. row_of_lane() returns the index of
/// the lane's row `load`.
__device__ __forceinline__ std::uint32_t query_of_lane(unsigned query) {
  return query / 2 * 8 + threadIdx.x % 4 * 2 + query % 2;
}

__device__ __forceinline__ std::uint32_t row_of_lane(std::uint32_t first_row, unsigned load) {
  return first_row + load * 8 + threadIdx.x % warp_lanes / 4;
}

__device__ __forceinline__ std::uint32_t* slot_of(const CandidateLists& lists, std::uint32_t query,
                                                  std::uint32_t row) {
  return lists.slots + std::size_t{query} * lists.slot_count + (row & (lists.slot_count - 1));
}

/// Returns true if the row may be a neighbour of the query. Both are indices within the scan.
__device__ __forceinline__ bool is_pair(const FilterScan& scan, std::uint32_t query,
                                        std::uint32_t row) {
  return query < scan.query_count && row < scan.row_end &&
         scan.first_row + row != scan.first_self + query;
}

/// Records score_above() of all rows of a warp's panel in slots.
template <bool is_dot, unsigned query_tiles>
__device__ __forceinline__ void record_panel(const FewFilterScan& scan,
                                             const FewFilterSums<query_tiles>& sums,
                                             const ShadowNorms (&norms)[FewFilterShape::loads],
                                             const ShadowQuery* queries, std::uint32_t first_row) {
#pragma unroll
  for (unsigned i = 0; i < query_tiles * 2; ++i) {
    const std::uint32_t query = query_of_lane(i);
#pragma unroll
    for (unsigned load = 0; load < FewFilterShape::loads; ++load) {
      const std::uint32_t row = row_of_lane(first_row, load);
      if (!is_pair(scan.filter, query, row)) continue;
      const float above =
          score_above<is_dot>(scan.filter.limits, queries[query], norms[load], sums.at(load, i));
      if (above < CUDART_INF_F) atomicMin(slot_of(scan.lists, query, row), ordered_of(above));
    }
  }
}

/// Appends the rows of a warp's panel that may be within a query's bound, and records them in
/// slots. Lane l passes the ordered bound of query l, or 0, the ordered value of NaN, if there is
/// no query l. Most panels have no row within a bound. A first test with the largest error and norm
/// of the tile of rows finds these panels. Called by a whole warp.
template <bool is_dot, unsigned query_tiles>
__device__ __forceinline__ void append_panel(const FewFilterScan& scan,
                                             const FewFilterSums<query_tiles>& sums,
                                             const ShadowNorms (&norms)[FewFilterShape::loads],
                                             const ShadowTile& tile, const ShadowQuery* queries,
                                             std::uint32_t first_row, std::uint32_t bound) {
  constexpr unsigned lane_queries = query_tiles * 2;
  const FilterScan& filter = scan.filter;
  const float tile_norm = norm_above(tile.half_norm_max);
  std::uint32_t bounds[lane_queries];
  unsigned near = 0;  // bit load * lane_queries + i: row `load` may be near query i
#pragma unroll
  for (unsigned i = 0; i < lane_queries; ++i) {
    const std::uint32_t query = query_of_lane(i);
    ShadowQuery shadow = queries[query];
    bounds[i] = __shfl_sync(all_lanes, bound, static_cast<int>(query));
    shadow.reach = reach_of<is_dot>(filter.limits, shadow.error, score_of_ordered(bounds[i]));
    const float least = least_product<is_dot>(filter.limits, shadow, tile.error_max, tile_norm);
#pragma unroll
    for (unsigned load = 0; load < FewFilterShape::loads; ++load) {
      const float sum = sums.at(load, i);
      if ((is_dot ? sum : __fsub_rn(sum, norms[load].half_norm)) >= least)
        near |= 1u << (load * lane_queries + i);
    }
  }
  if (!any_in_warp(near != 0)) return;
#pragma unroll
  for (unsigned load = 0; load < FewFilterShape::loads; ++load)
#pragma unroll
    for (unsigned i = 0; i < lane_queries; ++i) {
      if ((near >> (load * lane_queries + i) & 1) == 0) continue;
      const std::uint32_t query = query_of_lane(i);
      const std::uint32_t row = row_of_lane(first_row, load);
      if (!is_pair(filter, query, row)) continue;
      ShadowQuery shadow = queries[query];
      shadow.reach = reach_of<is_dot>(filter.limits, shadow.error, score_of_ordered(bounds[i]));
      const float product = sums.at(load, i);
      const float value = is_dot ? product : __fsub_rn(product, norms[load].half_norm);
      if (value < least_product<is_dot>(filter.limits, shadow, norms[load].error,
                                        norm_above(norms[load].half_norm)))
        continue;
      const std::uint32_t above =
          ordered_of(score_above<is_dot>(filter.limits, shadow, norms[load], product));
      scan.lists.keys[query * scan.lists.room + atomicAdd(scan.lists.counts + query, 1u)] =
          key_of_ordered(above, filter.first_row + row);
      if (above < ordered_infinity) atomicMin(slot_of(scan.lists, query, row), above);
    }
  __syncwarp();
}

/// Computes the bounds of all queries from the slots, in every block. No slot may fall meanwhile:
/// blocks that are ahead only record again the scores that they recorded before the barrier. Called
/// by the whole block. `bounds` is shared memory.
__device__ inline void bounds_of_all(const FewFilterScan& scan, std::uint32_t* bounds) {
  for (std::uint32_t query = threadIdx.x / warp_lanes; query < scan.filter.query_count;
       query += FewFilterShape::warps) {
    const std::uint32_t bound =
        min(bound_of_slots(scan.lists.slots + std::size_t{query} * scan.lists.slot_count,
                           scan.lists.slot_count, scan.lists.k),
            ordered_infinity);
    if (threadIdx.x % warp_lanes != 0) continue;
    bounds[query] = bound;
    if (blockIdx.x == 0) scan.lists.bounds[query] = bound;
  }
  __syncthreads();
}

/// Multiplies the shadows of panels with those of up to query_tiles * 8 queries, and writes
/// candidates and slots; the pass `sample` writes only slots. Grid: few_filter_blocks() blocks for
/// each multiprocessor, or fewer. Each warp visits panels as PanelWalk says. A slice of a panel is
/// 2 KB of contiguous memory; a lane takes 16 bytes of each of four rows. Within a slice of 32, the
/// components are in another order than the instruction assumes. The order is the same for rows and
/// queries, so each sum has the right terms. Shared bytes: few_filter_shared_bytes(). The pass
/// `together` needs a cooperative launch.
template <FewFilterPass pass, bool is_dot, unsigned query_tiles>
__global__ void __launch_bounds__(FewFilterShape::threads, few_filter_blocks(pass, query_tiles))
    few_filter_kernel(const FewFilterScan scan, const PanelWalk walk) {
  using Shape = FewFilterShape;
  extern __shared__ uint4 shared_pieces[];
  const FilterScan& filter = scan.filter;
  const std::uint32_t stride = filter.corpus.stride;
  const std::uint32_t slices = stride / shadow_slice;
  auto* queries = reinterpret_cast<ShadowQuery*>(shared_pieces);
  uint4* const pieces = shared_pieces + query_tiles * 8;  // [slice][tile][lane]
  static_assert(sizeof(ShadowQuery) == sizeof(uint4));
  for (std::uint32_t i = threadIdx.x; i < slices * query_tiles * warp_lanes; i += Shape::threads) {
    const std::uint32_t query = i / warp_lanes % query_tiles * 8 + i % warp_lanes / 4;
    const std::uint32_t component = i / (warp_lanes * query_tiles) * shadow_slice + i % 4 * 8;
    copy_piece_async(shared_address(pieces + i),
                     filter.query_halves + shadow_place(stride, query, component));
  }
  for (unsigned i = threadIdx.x; i < query_tiles * 8; i += Shape::threads)
    copy_piece_async(shared_address(queries + i), filter.queries + i);
  commit_copies();

  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t warps = gridDim.x * Shape::warps;
  const std::uint32_t warp = turn_of_warp(walk.multiprocessors) * gridDim.x + blockIdx.x;
  const bool has_panel = warp < scan.panel_count;
  auto panel = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * warp % scan.panel_count);
  std::uint32_t panels = has_panel ? 1 : 0;
  if (pass == FewFilterPass::all && has_panel) panels = (scan.panel_count - 1 - warp) / warps + 1;

  const std::uint16_t* at = nullptr;  // the lane's piece of the panel that is being loaded
  uint4 next[Shape::loads];
  const auto read_slice = [&](std::uint32_t slice) {
#pragma unroll
    for (unsigned load = 0; load < Shape::loads; ++load)
      next[load] = read_once(reinterpret_cast<const uint4*>(
          at + (slice * shadow_tile_rows + load * 8) * shadow_slice));
  };
  const auto begin_panel = [&](std::uint32_t number) {
    at = filter.corpus.halves + shadow_place(stride, number * panel_rows + lane / 4, lane % 4 * 8);
    read_slice(0);
  };
  if (has_panel) begin_panel(panel);
  wait_for_copies<0>();
  __syncthreads();

  std::uint32_t first_row = 0;
  FewFilterSums<query_tiles> sums;
  ShadowNorms norms[Shape::loads];
  ShadowTile tile{};
  for (std::uint32_t done = 1; done <= panels; ++done) {
    first_row = panel * panel_rows;
    panel += walk.warp_step;
    if (panel >= scan.panel_count) panel -= scan.panel_count;
#pragma unroll
    for (unsigned load = 0; load < Shape::loads; ++load)
      norms[load] = filter.corpus.norms[row_of_lane(first_row, load)];
    tile = filter.corpus.tiles[first_row / shadow_tile_rows];
    // Every lane loads one bound. The bounds of all queries are in one or two lines of the L2
    // cache, so a load for each query would make all warps wait for these lines.
    std::uint32_t bound = 0;
    if (pass == FewFilterPass::all && lane < filter.query_count)
      bound = __ldcg(scan.lists.bounds + lane);
    sums = {};
#pragma unroll 1
    for (std::uint32_t slice = 0; slice < slices; ++slice) {
      uint4 rows[Shape::loads];
#pragma unroll
      for (unsigned load = 0; load < Shape::loads; ++load) rows[load] = next[load];
      if (slice + 1 < slices)
        read_slice(slice + 1);
      else if (done < panels)
        begin_panel(panel);
#pragma unroll
      for (unsigned query_tile = 0; query_tile < query_tiles; ++query_tile) {
        const uint4 query = pieces[(slice * query_tiles + query_tile) * warp_lanes + lane];
#pragma unroll
        for (unsigned i = 0; i < Shape::row_tiles; ++i) {
          const uint4& upper = rows[2 * i];
          const uint4& lower = rows[2 * i + 1];
          const unsigned first[4] = {upper.x, lower.x, upper.y, lower.y};
          const unsigned second[4] = {upper.z, lower.z, upper.w, lower.w};
          multiply(sums.of[i][query_tile], first, query.x, query.y);
          multiply(sums.of[i][query_tile], second, query.z, query.w);
        }
      }
    }
    if constexpr (pass != FewFilterPass::all) {
      record_panel<is_dot>(scan, sums, norms, queries, first_row);
      break;
    }
    append_panel<is_dot>(scan, sums, norms, tile, queries, first_row, bound);
    if (warp < renewing_warps * filter.query_count && is_time_to_renew(done) && done < panels)
      renew_bound(scan.lists, warp % filter.query_count);
  }
  if constexpr (pass == FewFilterPass::together) {
    cooperative_groups::this_grid().sync();
    __shared__ std::uint32_t bounds[query_tiles * 8];
    bounds_of_all(scan, bounds);
    if (has_panel)
      append_panel<is_dot>(scan, sums, norms, tile, queries, first_row,
                           lane < filter.query_count ? bounds[lane] : 0);
  }
}

}  // namespace starling::gpu
