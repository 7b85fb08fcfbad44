// SPDX-License-Identifier: Apache-2.0
// Chooses the tile by the number of queries, and divides the tiles of rows among enough blocks
// to fill whole rounds of the device: see many_queries_launch.hpp. workspace.cpp calls it.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/scan/many_queries_kernel.cuh"
#include "starling/gpu/vectors/scan/many_queries_launch.hpp"
#include "starling/gpu/vectors/scan/tile_walk.hpp"

namespace starling::gpu {
namespace {

/// The least (panels of rows) * (tiles of queries) for which the larger tile (4 panels) is used: it
/// gives 8 rounds of 2 * 132 blocks.
constexpr std::uint64_t panels_many = 8 * 264 * 4;

/// Returns the number of parts into which the rows are divided. With this number the blocks fill
/// whole rounds of resident blocks: it is the smallest number of parts for which the busy share of
/// the device is within 3 % of the best.
std::uint32_t splits_for(std::uint32_t query_tiles, std::uint32_t tiles, unsigned resident) {
  constexpr std::uint32_t rounds_max = 4;
  constexpr double near_best = 0.97;
  const std::uint32_t splits_max =
      std::min(tiles, std::max(resident * rounds_max / query_tiles, std::uint32_t{1}));
  const auto share_busy = [&](std::uint32_t splits) {
    // A block has at most ceil(tiles / splits) tiles, and each round takes as long as a block with
    // that many tiles.
    const std::uint64_t rounds = blocks_for(std::uint64_t{query_tiles} * splits, resident);
    const std::uint64_t slots = rounds * resident * ((tiles - 1) / splits + 1);
    return static_cast<double>(std::uint64_t{query_tiles} * tiles) / static_cast<double>(slots);
  };
  double best = 0;
  for (std::uint32_t splits = 1; splits <= splits_max; ++splits)
    best = std::max(best, share_busy(splits));
  std::uint32_t splits = 1;
  while (share_busy(splits) < near_best * best) ++splits;
  return splits;
}

template <class Shape, Recipe recipe>
void launch(const VectorScan& scan, const CudaStream& stream) {
  const auto kernel = vector_tile_kernel<Shape, recipe>;
  const unsigned resident = resident_blocks(kernel, Shape::threads, Shape::shared_bytes);
  TileWalk walk;
  walk.tile_count = blocks_for(scan.panel_count, Shape::tile_panels);
  walk.query_tiles = blocks_for(scan.query_count, Shape::tile_queries);
  walk.splits = splits_for(walk.query_tiles, walk.tile_count, resident);
  walk.step = walk_step(walk.tile_count);
  traced_launch(kernel, {walk.query_tiles * walk.splits, Shape::threads, Shape::shared_bytes},
                stream, scan, walk);
}

template <Recipe recipe>
void launch(const VectorScan& scan, const CudaStream& stream) {
  if (scan.query_count <= 1 * query_tile_rows) return launch<TileShape<1, 1>, recipe>(scan, stream);
  // The other shapes are compiled only for the two recipes that nearly all searches use.
  if constexpr (!has_filter(recipe)) return launch<TileShape<2, 8>, recipe>(scan, stream);
  if (scan.query_count <= 2 * query_tile_rows) return launch<TileShape<2, 2>, recipe>(scan, stream);
  if (scan.query_count <= 4 * query_tile_rows) return launch<TileShape<4, 4>, recipe>(scan, stream);
  if (std::uint64_t{scan.panel_count} * blocks_for(scan.query_count, 8 * query_tile_rows) <
      panels_many)
    return launch<TileShape<2, 8>, recipe>(scan, stream);
  launch<TileShape<4, 8>, recipe>(scan, stream);
}

}  // namespace

void tile_scan_async(const VectorScan& scan, const CudaStream& stream) {
  with_recipe(scan.recipe, [&](auto recipe) { launch<decltype(recipe)::value>(scan, stream); });
}

}  // namespace starling::gpu
