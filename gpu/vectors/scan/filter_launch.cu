// SPDX-License-Identifier: Apache-2.0
// Makes the queries' shadows, and filters the rows in phases. Lowers the bounds after each phase,
// and scores the remaining candidates at the end: see filter_launch.hpp. workspace.cpp calls it.
#include <cmath>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/shadow_launch.hpp"
#include "starling/gpu/vectors/scan/filter_kernel.cuh"
#include "starling/gpu/vectors/scan/filter_launch.hpp"
#include "starling/gpu/vectors/scan/narrow_kernel.cuh"
#include "starling/gpu/vectors/scan/tile_walk.hpp"

namespace starling::gpu {
namespace {

struct FilterTuning {
  static constexpr std::uint32_t first_rows_min = 1024;
  /// The first phase has at least first_rows_k * k rows.
  static constexpr std::uint32_t first_rows_k = 4;
  /// A phase multiplies the number of rows filtered so far by about `growth`. In a phase about
  /// growth * k rows become candidates of a query. For few queries growth_few is faster: they have
  /// few candidates, so each phase has little work for its fixed cost.
  static constexpr double growth = 4;
  static constexpr double growth_few = 12;
  static constexpr std::uint32_t queries_few = 1024;
  static constexpr unsigned rescore_threads = 128;
  static constexpr unsigned narrow_threads = 128;
  /// A warp narrows a list if k is at most narrow_warp_k and there are at least narrow_warp_queries
  /// queries; for fewer queries a block for each list is faster. A block has narrow_threads threads
  /// if k is at most narrow_k, else twice as many, so that registers hold the scores of most lists.
  static constexpr std::uint32_t narrow_warp_k = 128;
  static constexpr std::uint32_t narrow_warp_queries = 2048;
  static constexpr std::uint32_t narrow_k = 256;
};

/// Never launched: the size of its shared memory shows whether the code that the device runs has
/// products of groups of warps.
__global__ void group_product_probe_kernel(const int* from, int* to) {
  __shared__ int places[has_group_product ? 2 * warp_lanes : warp_lanes];
  places[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = places[threadIdx.x ^ 1];
}

template <class Product, bool is_dot, bool is_first, bool is_resident>
void launch_filter(const FilterScan& scan, const CudaStream& stream) {
  const auto kernel = vector_filter_kernel<Product, is_dot, is_first, is_resident>;
  const std::size_t shared_bytes = filter_shared_bytes<is_resident>(scan.corpus.stride);
  const unsigned resident = resident_blocks(kernel, FilterShape::threads, shared_bytes);
  const std::uint32_t tiles = scan.phase_end - scan.phase_begin;
  const std::uint32_t query_tiles = blocks_for(scan.query_count, FilterShape::queries);
  const std::uint32_t splits = std::clamp(resident / query_tiles, 1u, tiles);
  traced_launch(kernel, {query_tiles * splits, FilterShape::threads, shared_bytes}, stream, scan,
                query_tiles, splits);
}

template <class Product, bool is_dot, bool is_first>
void launch_filter(const FilterScan& scan, const CudaStream& stream) {
  if (scan.corpus.stride <= resident_stride_max)
    launch_filter<Product, is_dot, is_first, true>(scan, stream);
  else
    launch_filter<Product, is_dot, is_first, false>(scan, stream);
}

template <bool is_dot, bool is_first>
void launch_filter(const FilterScan& scan, bool in_groups, const CudaStream& stream) {
  if (in_groups)
    launch_filter<GroupProduct, is_dot, is_first>(scan, stream);
  else
    launch_filter<WarpProduct, is_dot, is_first>(scan, stream);
}

template <bool is_dot, class Team, unsigned held_each, unsigned threads>
void launch_narrow(const FilterScan& scan, std::uint32_t appended, const CudaStream& stream) {
  const unsigned blocks = blocks_for(std::uint64_t{scan.query_count} * Team::threads, threads);
  traced_launch(vector_narrow_kernel<is_dot, Team, held_each, threads>, {blocks, threads}, stream,
                scan, appended);
}

template <bool is_dot>
void launch_narrow(const FilterScan& scan, std::uint32_t appended, const CudaStream& stream) {
  using Tuning = FilterTuning;
  constexpr unsigned threads = Tuning::narrow_threads;
  if (scan.k <= Tuning::narrow_warp_k && scan.query_count >= Tuning::narrow_warp_queries)
    launch_narrow<is_dot, WarpTeam, 32, threads>(scan, appended, stream);
  else if (scan.k <= Tuning::narrow_k)
    launch_narrow<is_dot, BlockTeam<threads>, 16, threads>(scan, appended, stream);
  else
    launch_narrow<is_dot, BlockTeam<2 * threads>, 40, 2 * threads>(scan, appended, stream);
}

template <bool is_dot>
void filter(FilterScan scan, bool in_groups, const CudaStream& stream) {
  const std::uint32_t first = blocks_for(filter_first_rows(scan.k), FilterShape::rows);
  const double rest = static_cast<double>(scan.tile_count) / first;
  const double wanted = scan.query_count <= FilterTuning::queries_few ? FilterTuning::growth_few
                                                                      : FilterTuning::growth;
  const auto phases = std::max(1, static_cast<int>(std::lround(std::log(rest) / std::log(wanted))));
  const double growth = std::pow(rest, 1.0 / phases);
  scan.phase_end = first;
  launch_filter<is_dot, true>(scan, in_groups, stream);
  launch_narrow<is_dot>(scan, first * FilterShape::rows, stream);
  double end = first;
  for (int phase = 1; phase <= phases; ++phase) {
    end *= growth;
    scan.phase_begin = scan.phase_end;
    scan.phase_end = phase == phases ? scan.tile_count
                                     : std::clamp(static_cast<std::uint32_t>(end), scan.phase_begin,
                                                  scan.tile_count);
    if (scan.phase_end == scan.phase_begin) continue;
    launch_filter<is_dot, false>(scan, in_groups, stream);
    launch_narrow<is_dot>(scan, 0, stream);
  }
  const auto kernel = vector_rescore_kernel<is_dot, FilterTuning::rescore_threads>;
  const std::size_t shared_bytes = scan.rows.group_count * sizeof(float4);
  traced_launch(kernel, {scan.query_count, FilterTuning::rescore_threads, shared_bytes}, stream,
                scan);
}

}  // namespace

bool has_group_products() {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, group_product_probe_kernel));
  return attributes.sharedSizeBytes > warp_lanes * sizeof(int);
}

std::uint32_t filter_first_rows(std::uint32_t k) {
  return std::max(FilterTuning::first_rows_min, FilterTuning::first_rows_k * k);
}

std::uint32_t filter_batch_tiles(std::uint32_t tiles_max) {
  const std::uint32_t blocks = FilterShape::blocks_each * multiprocessor_count();
  if (tiles_max >= blocks) return tiles_max / blocks * blocks;
  return blocks / ((blocks - 1) / tiles_max + 1);
}

void filter_scan_async(FilterScan scan, bool is_dot, bool may_multiply_in_groups,
                       const CudaStream& stream) {
  scan.limits = filter_limits(scan.dimension);
  scan.tile_count = static_cast<std::uint32_t>(shadow_tiles(scan.row_end));
  scan.step = walk_step(scan.tile_count);
  check(cudaMemsetAsync(scan.undecided, 0,
                        blocks_for(scan.query_count, filter_queries) * sizeof(std::uint32_t),
                        stream.get()));
  make_query_shadows_async(scan.components, scan.query_count, scan.dimension, scan.corpus,
                           const_cast<std::uint16_t*>(scan.query_halves), scan.queries, stream);
  const bool in_groups = may_multiply_in_groups && has_group_products();
  is_dot ? filter<true>(scan, in_groups, stream) : filter<false>(scan, in_groups, stream);
}

}  // namespace starling::gpu
