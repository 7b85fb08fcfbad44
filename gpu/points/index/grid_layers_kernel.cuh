// SPDX-License-Identifier: Apache-2.0
// Kernels that add layers to a grid. They move the layers' objects to cells, which follow the cells
// of layer 0. Then split_kernel and split_large_kernel split these cells. Launched by
// grid_launch.cu.
#pragma once

#include "starling/gpu/points/index/grid_kernel.cuh"
#include "starling/gpu/points/index/layers.hpp"

namespace starling::gpu {

/// Returns the most cells that a layer with this many objects may have.
__host__ __device__ constexpr std::uint32_t layer_cells_max(std::uint32_t objects) {
  return static_cast<std::uint32_t>(std::uint64_t{objects} * 5 / 4 / GridTuning::cell_objects) + 1;
}
/// Returns a number of cells that is enough for `layers` layers with `entries` entries in total.
__host__ __device__ constexpr std::uint32_t layer_cells_before(std::uint32_t entries,
                                                               std::uint32_t layers) {
  return layer_cells_max(entries) - 1 + layers;
}

struct LayersBuild {
  LayersView layers;
  std::uint32_t first_cell;  ///< the number of layer 1's first cell
  std::uint32_t cells;       ///< the most cells of layers 1, 2 and so on together
  std::uint32_t places;      ///< how many places layer 0 has
};

// One block of block_threads threads for each layer. The block computes the layer's geometry. All
// blocks together clear the counts of the layers' cells. The first block clears large_count, and
// writes the unused point after the last place.
__global__ void prepare_layers_kernel(const __grid_constant__ ObjectsView objects,
                                      const __grid_constant__ LayersBuild build,
                                      const __grid_constant__ GridMemory to) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t cell = thread_index(); cell <= build.cells; cell += threads)
    to.counts[build.first_cell + cell] = 0;
  const Layer layer = build.layers.layers[blockIdx.x];
  const Rectangle core = core_of(objects, [&](unsigned i) {
    const std::uint64_t entry = layer.first + std::uint64_t{i} * layer.count / samples;
    return build.layers.entries[entry].slot;
  });
  if (threadIdx.x != 0) return;
  GridGeometry geometry = geometry_of(core, layer.count, layer_cells_max(layer.count));
  geometry.first_cell = build.first_cell + layer_cells_before(layer.first, blockIdx.x);
  to.geometry[blockIdx.x + 1] = geometry;
  if (blockIdx.x != 0) return;
  *to.large_count = 0;
  to.points[build.places + build.layers.object_count] = {};
}

/// An entry of a layer: its object and cell.
struct PlacedEntry {
  int4 object;  ///< x, y, slot and layer
  std::uint32_t cell;

  __device__ PlacedEntry(const LayerEntry& entry, const ObjectsView& objects,
                         const GridMemory& to) {
    const LatticePoint& at = objects.positions[entry.slot];
    object = {at.x, at.y, static_cast<std::int32_t>(entry.slot),
              static_cast<std::int32_t>(entry.layer)};
    cell = cell_at(to.geometry[entry.layer], at.x, at.y);
  }
};

// One thread for each entry. Counts the objects of each cell. An object's rank in its cell is the
// count before the object was added. Writes counts, one for each cell, and ranks, one for each
// entry.
__global__ void __launch_bounds__(block_threads)
    count_layers_kernel(const __grid_constant__ ObjectsView objects,
                        const __grid_constant__ LayersBuild build,
                        const __grid_constant__ GridMemory to) {
  const std::uint64_t i = thread_index();
  if (i >= build.layers.entry_count) return;
  const PlacedEntry placed(build.layers.entries[i], objects, to);
  reinterpret_cast<std::uint32_t*>(to.ranks)[i] = atomicAdd(&to.counts[placed.cell], 1u);
}

// One thread for each entry. Moves the objects to their cells. Reads ranks and starts; starts has
// the prefix sums of the counts. Writes by_cell, one entry for each object.
__global__ void __launch_bounds__(block_threads)
    scatter_layers_kernel(const __grid_constant__ ObjectsView objects,
                          const __grid_constant__ LayersBuild build,
                          const __grid_constant__ GridMemory to) {
  const std::uint64_t i = thread_index();
  if (i >= build.layers.entry_count) return;
  const PlacedEntry placed(build.layers.entries[i], objects, to);
  const std::uint32_t rank = reinterpret_cast<const std::uint32_t*>(to.ranks)[i];
  to.by_cell[to.starts[placed.cell] + rank] = placed.object;
}

}  // namespace starling::gpu
