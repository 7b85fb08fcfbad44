// SPDX-License-Identifier: Apache-2.0
// Launches searches of a grid. If k is small and searches are many, a thread serves each search,
// and warps repeat the searches that threads postponed. Otherwise a warp serves each search. Also
// computes the searches' spatial sort keys: see search_launch.hpp.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/index/hilbert.cuh"
#include "starling/gpu/points/search/grid_search_thread_kernel.cuh"
#include "starling/gpu/points/search/grid_search_warp_kernel.cuh"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// Returns the spatial sort key of a position. A position outside the grid has the key of the
/// nearest position inside.
__device__ GridKey search_key(const GridView& grid, const LatticePoint& position) {
  const GridGeometry& geometry = *grid.geometry;
  const std::uint32_t extent = max(geometry.extent_x, geometry.extent_y);
  const int shift = max(32 - __clz(static_cast<int>(extent)) - grid_key_bits / 2, 0);
  const auto inside = [shift](std::int32_t at, std::int32_t min, std::uint32_t axis_extent) {
    return static_cast<std::uint32_t>(along(at, min, axis_extent, 1)) >> shift;
  };
  std::uint32_t cell[2] = {inside(position.x, geometry.min_x, geometry.extent_x),
                           inside(position.y, geometry.min_y, geometry.extent_y)};
  return hilbert_key(cell, grid_key_bits / 2);
}

namespace {

/// How many lanes of a warp have a search if there are few searches. Measured with 10k searches, 1M
/// objects and k 10: 0.058 ms with 32 lanes, 0.053 with 16, 0.048 with 8, 0.051 with 4.
constexpr unsigned few_searches_a_warp = 8;

/// Launches blocks of `threads` threads; `threads` is at most `threads_max`. A multiprocessor
/// should hold `blocks` blocks of threads_max threads.
template <int k_limit, Routing routing, unsigned threads_max, unsigned blocks>
void launch_threads(unsigned threads, unsigned searches_a_warp, const GridView& grid,
                    const ObjectsView& objects, const SearchBatch& batch,
                    const CudaStream& stream) {
  const unsigned warps = threads / warp_lanes;
  thread_search_kernel<k_limit, routing, threads_max, blocks>
      <<<blocks_for(batch.count, warps * searches_a_warp), threads,
         warps * ThreadSearchShape<k_limit>::warp_bytes, stream.get()>>>(grid, objects, batch,
                                                                         searches_a_warp);
  check_launch();
}

/// Few searches are launched in small blocks, so that every multiprocessor gets some searches.
template <int k_limit, Routing routing>
void search_by_thread_async(const GridView& grid, const ObjectsView& objects,
                            const SearchBatch& batch, const CudaStream& stream) {
  constexpr unsigned most = thread_search_threads;
  constexpr unsigned blocks =
      routing == Routing::tests ? 1 : ThreadSearchShape<k_limit>::blocks_min;
  const auto launch = [&](auto launch_it, unsigned threads, unsigned searches_a_warp) {
    launch_it(threads, searches_a_warp, grid, objects, batch, stream);
  };
  if (batch.count >= 200'000)
    launch(launch_threads<k_limit, routing, most, blocks>, most, warp_lanes);
  else if (batch.count >= 60'000)
    launch(launch_threads<k_limit, routing, most, blocks>, most / 2, warp_lanes);
  else if (batch.count >= 30'000)
    launch(launch_threads<k_limit, routing, warp_lanes, 1>, warp_lanes, warp_lanes);
  else  // a warp takes as long as its slowest lane, so it gets few searches
    launch(launch_threads<k_limit, routing, warp_lanes, 1>, warp_lanes, few_searches_a_warp);
}

template <int k_limit>
void search_by_thread_async(const GridView& grid, const ObjectsView& objects,
                            const SearchBatch& batch, const CudaStream& stream) {
  if (batch.has_tests)
    search_by_thread_async<k_limit, Routing::tests>(grid, objects, batch, stream);
  else if (batch.routes != nullptr)
    search_by_thread_async<k_limit, Routing::layers>(grid, objects, batch, stream);
  else
    search_by_thread_async<k_limit, Routing::none>(grid, objects, batch, stream);
}

/// The most blocks of a launch. If no search was postponed, this many blocks end within
/// microseconds.
constexpr unsigned warp_blocks_max = 2048;

template <WarpShare share>
void search_by_warp_async(const GridView& grid, const ObjectsView& objects,
                          const SearchBatch& batch, const CudaStream& stream) {
  const std::uint32_t entries = entries_for(batch.k_max, warp_lanes);
  const std::size_t warp_bytes = WarpNearest::bytes(entries);
  const auto kernel =
      batch.has_tests ? warp_search_kernel<share, true> : warp_search_kernel<share, false>;
  const unsigned threads = threads_that_fit(kernel, warp_search_threads, warp_bytes / warp_lanes);
  const std::size_t shared_bytes = threads / warp_lanes * warp_bytes;
  const unsigned blocks = blocks_for(std::uint64_t{batch.count} * warp_lanes, threads);
  kernel<<<std::min(blocks, warp_blocks_max), threads, shared_bytes, stream.get()>>>(
      grid, objects, batch, entries);
  check_launch();
}

}  // namespace

void search_async(const GridView& index, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream) {
  if (batch.count == 0) return;
  GridView grid = index;
  if (batch.routes == nullptr) grid.attached = {};  // without routes there is no least_rank to test
  // A batch of few searches ends sooner if a warp serves each search, because a single thread takes
  // long for a search.
  if (batch.k_max > 32 || batch.count <= batch.few_max) {
    search_by_warp_async<WarpShare::all>(grid, objects, batch, stream);
    return;
  }
  check(cudaMemsetAsync(batch.postponed, 0, sizeof(std::uint32_t), stream.get()));
  if (batch.k_max <= 10)
    search_by_thread_async<10>(grid, objects, batch, stream);
  else if (batch.k_max <= 16)
    search_by_thread_async<16>(grid, objects, batch, stream);
  else
    search_by_thread_async<32>(grid, objects, batch, stream);
  search_by_warp_async<WarpShare::postponed>(grid, objects, batch, stream);
}

void search_keys_async(const GridView& grid, const ObjectsView& objects,
                       const SearchKeys<GridKey>& searches, const CudaStream& stream) {
  if (searches.count == 0) return;
  search_keys_kernel<<<blocks_for(searches.count), block_threads, 0, stream.get()>>>(grid, objects,
                                                                                     searches);
  check_launch();
}

}  // namespace starling::gpu
