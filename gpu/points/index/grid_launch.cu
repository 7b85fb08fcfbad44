// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that build a grid. For layer 0 these are the kernels of grid_kernel.cuh and
// grid_large_kernel.cuh, with a prefix sum by CUB between them. They are replayed as a CUDA graph
// while their arguments stay the same. If there are further layers, the kernels of
// grid_layers_kernel.cuh follow: see grid_launch.hpp.
#include <algorithm>

#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "starling/gpu/points/index/grid_kernel.cuh"
#include "starling/gpu/points/index/grid_large_kernel.cuh"
#include "starling/gpu/points/index/grid_launch.hpp"
#include "starling/gpu/points/index/grid_layers_kernel.cuh"

namespace starling::gpu {
namespace {

constexpr unsigned prepare_blocks_max = 1024;
/// Two blocks for each of the 132 multiprocessors of an H100 or H200.
constexpr unsigned split_large_blocks = 264;

/// Returns the most cells that layer 0 may have for this many objects: a quarter more than evenly
/// spread objects fill, plus `least`.
std::uint32_t cells_max(std::uint32_t objects) {
  constexpr std::uint32_t least = 64;
  return static_cast<std::uint32_t>(std::uint64_t{objects} * 5 / 4 / GridTuning::cell_objects) +
         least;
}

std::size_t scratch_bytes(std::uint32_t count) {
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveScan(nullptr, bytes, static_cast<const std::uint32_t*>(nullptr),
                                       static_cast<std::uint32_t*>(nullptr), cuda::std::plus<>{},
                                       std::uint32_t{0}, count));
  return bytes;
}

/// Writes the cells + 1 entries of `starts`: starts[i] is `first` plus the sum of the counts before
/// counts[i].
void scan_async(const std::uint32_t* counts, std::uint32_t* starts, std::uint32_t cells,
                std::uint32_t first, DeviceBuffer<std::byte>& scratch, const CudaStream& stream) {
  std::size_t bytes = scratch.room();
  check(cub::DeviceScan::ExclusiveScan(scratch.data(), bytes, counts, starts, cuda::std::plus<>{},
                                       first, cells + 1, stream.get()));
}

/// Moves the objects of the cells to their leaves. The cells have the numbers from `first` up to,
/// but not including, `end`. `ids` is indexed by slot.
void split_async(const GridMemory& to, std::uint32_t first, std::uint32_t end, const ObjectId* ids,
                 const CudaStream& stream) {
  split_kernel<<<blocks_for(end - first, split_warps), split_warps * 32, 0, stream.get()>>>(
      to, first, end);
  check_launch();
  split_large_kernel<<<split_large_blocks, split_large_threads, 0, stream.get()>>>(to, ids);
  check_launch();
}

/// Returns the most cells of all layers together, plus one. In GridView::starts, one entry for the
/// end of layer 0 lies between the cells of layer 0 and those of layer 1.
std::uint32_t cells_max(std::uint32_t objects, const LayersView& layers) {
  return cells_max(objects) + 1 + layer_cells_before(layers.entry_count, layers.count);
}

}  // namespace

void GridWorkspace::reserve(std::uint32_t slots, const LayersView& layers) {
  const std::uint32_t cells = cells_max(slots, layers);
  counts_.reserve(cells + 1);
  ranks_.reserve(std::max(slots, layers.entry_count) / 4 + 1);
  by_cell_.reserve(std::size_t{slots} + layers.object_count);
  large_cells_.reserve(cells);
  scratch_.reserve(scratch_bytes(cells + 1));
}

std::uint64_t GridWorkspace::bytes_used() const {
  return counts_.room() * sizeof(std::uint32_t) + ranks_.room() * sizeof(uint4) +
         by_cell_.room() * sizeof(int4) + large_cells_.room() * sizeof(std::uint32_t) +
         scratch_.room();
}

void DeviceGrid::reserve(std::uint32_t count, const LayersView& layers) {
  const std::uint32_t cells = cells_max(count, layers);
  const std::uint32_t places = count + layers.object_count;
  geometry_.reserve(1 + layers.count);
  starts_.reserve(cells + 1);
  offsets_.reserve(offsets_before(places, cells));
  points_.reserve(std::size_t{places} + 1);
  slots_.reserve(places);
  attached_.reserve(count, layers);
}

void DeviceGrid::build_async(const ObjectsView& objects, std::uint32_t alive,
                             const LayersView& layers, Workspace& workspace,
                             const CudaStream& stream) {
  view_ = {.geometry = geometry_.data(),
           .starts = starts_.data(),
           .offsets = offsets_.data(),
           .points = points_.data(),
           .slots = slots_.data(),
           .attached = {},
           .count = alive};
  if (alive == 0) return;
  const Shape shape = {
      view_,
      objects,
      {workspace.counts_.data(), workspace.ranks_.data(), workspace.by_cell_.data(),
       workspace.large_count_.data(), workspace.large_cells_.data(), workspace.scratch_.data()}};
  replay_.run(shape, stream, [&] { enqueue_build(objects, workspace, stream); });
  view_.attached = attached_.attach_async(objects, slots_.data(), alive, layers, stream);
  if (layers.object_count > 0) enqueue_layers(objects, layers, workspace, stream);
}

GridMemory DeviceGrid::memory(Workspace& workspace) {
  return {.geometry = geometry_.data(),
          .starts = starts_.data(),
          .offsets = offsets_.data(),
          .points = points_.data(),
          .slots = slots_.data(),
          .counts = workspace.counts_.data(),
          .ranks = workspace.ranks_.data(),
          .by_cell = workspace.by_cell_.data(),
          .large_count = workspace.large_count_.data(),
          .large_cells = workspace.large_cells_.data()};
}

void DeviceGrid::enqueue_build(const ObjectsView& objects, Workspace& workspace,
                               const CudaStream& stream) {
  const GridMemory to = memory(workspace);
  const std::uint32_t cells = cells_max(view_.count);
  const unsigned blocks_of_four = blocks_for(objects.slots / 4 + 1);
  prepare_grid_kernel<<<std::min(blocks_for(cells + 1), prepare_blocks_max), block_threads, 0,
                        stream.get()>>>(objects, view_.count, cells, to);
  check_launch();
  count_kernel<<<blocks_of_four, block_threads, 0, stream.get()>>>(objects, to);
  check_launch();
  scan_async(to.counts, to.starts, cells, 0, workspace.scratch_, stream);
  scatter_kernel<<<blocks_of_four, block_threads, 0, stream.get()>>>(objects, to);
  check_launch();
  split_async(to, 0, cells, objects.ids, stream);
}

void DeviceGrid::enqueue_layers(const ObjectsView& objects, const LayersView& layers,
                                Workspace& workspace, const CudaStream& stream) {
  const GridMemory to = memory(workspace);
  const std::uint32_t first_cell = cells_max(view_.count) + 1;
  const std::uint32_t cells = layer_cells_before(layers.entry_count, layers.count);
  const LayersBuild build = {layers, first_cell, cells, view_.count};
  prepare_layers_kernel<<<layers.count, block_threads, 0, stream.get()>>>(objects, build, to);
  check_launch();
  const unsigned blocks = blocks_for(layers.entry_count);
  count_layers_kernel<<<blocks, block_threads, 0, stream.get()>>>(objects, build, to);
  check_launch();
  scan_async(to.counts + first_cell, to.starts + first_cell, cells, view_.count, workspace.scratch_,
             stream);
  scatter_layers_kernel<<<blocks, block_threads, 0, stream.get()>>>(objects, build, to);
  check_launch();
  split_async(to, first_cell, first_cell + cells, objects.ids, stream);
}

std::uint64_t DeviceGrid::bytes_used() const {
  return geometry_.room() * sizeof(GridGeometry) +
         (starts_.room() + offsets_.room()) * sizeof(std::uint32_t) +
         points_.room() * sizeof(int2) + slots_.room() * sizeof(Slot) + attached_.bytes_used();
}

}  // namespace starling::gpu
