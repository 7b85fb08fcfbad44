// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of grid_kernel.cuh, with a scan by CUB between them, and replays them as a
// CUDA graph while their arguments stay the same: see grid_launch.hpp.
#include <algorithm>

#include <cub/device/device_scan.cuh>

#include "starling/gpu/points/index/grid_kernel.cuh"
#include "starling/gpu/points/index/grid_launch.hpp"

namespace starling::gpu {
namespace {

constexpr unsigned prepare_blocks_max = 1024;
/// Two blocks for each of the 132 multiprocessors of an H100 or H200.
constexpr unsigned split_large_blocks = 264;

/// The most cells for this many objects: a quarter more than evenly spread objects fill, plus
/// `least`.
std::uint32_t cells_max(std::uint32_t objects) {
  constexpr std::uint32_t least = 64;
  return static_cast<std::uint32_t>(std::uint64_t{objects} * 5 / 4 / GridTuning::cell_objects) +
         least;
}

std::size_t scratch_bytes(std::uint32_t count) {
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const std::uint32_t*>(nullptr),
                                      static_cast<std::uint32_t*>(nullptr), count));
  return bytes;
}

}  // namespace

void GridWorkspace::reserve(std::uint32_t slots) {
  counts_.reserve(cells_max(slots) + 1);
  ranks_.reserve(slots / 4 + 1);
  by_cell_.reserve(slots);
  large_cells_.reserve(cells_max(slots));
  scratch_.reserve(scratch_bytes(cells_max(slots) + 1));
}

std::uint64_t GridWorkspace::bytes_used() const {
  return counts_.room() * sizeof(std::uint32_t) + ranks_.room() * sizeof(uint4) +
         by_cell_.room() * sizeof(int4) + large_cells_.room() * sizeof(std::uint32_t) +
         scratch_.room();
}

void DeviceGrid::reserve(std::uint32_t count) {
  starts_.reserve(cells_max(count) + 1);
  offsets_.reserve(offsets_before(count, cells_max(count)));
  points_.reserve(std::size_t{count} + 1);
  slots_.reserve(count);
}

void DeviceGrid::build_async(const ObjectsView& objects, std::uint32_t alive, Workspace& workspace,
                             const CudaStream& stream) {
  view_ = {.geometry = geometry_.data(),
           .starts = starts_.data(),
           .offsets = offsets_.data(),
           .points = points_.data(),
           .slots = slots_.data(),
           .count = alive};
  if (alive == 0) return;
  const Shape shape = {
      view_,
      objects,
      {workspace.counts_.data(), workspace.ranks_.data(), workspace.by_cell_.data(),
       workspace.large_count_.data(), workspace.large_cells_.data(), workspace.scratch_.data()}};
  replay_.run(shape, stream, [&] { enqueue_build(objects, workspace, stream); });
}

void DeviceGrid::enqueue_build(const ObjectsView& objects, Workspace& workspace,
                               const CudaStream& stream) {
  const GridMemory to = {.geometry = geometry_.data(),
                         .starts = starts_.data(),
                         .offsets = offsets_.data(),
                         .points = points_.data(),
                         .slots = slots_.data(),
                         .counts = workspace.counts_.data(),
                         .ranks = workspace.ranks_.data(),
                         .by_cell = workspace.by_cell_.data(),
                         .large_count = workspace.large_count_.data(),
                         .large_cells = workspace.large_cells_.data()};
  const std::uint32_t cells = cells_max(view_.count);
  const unsigned blocks_of_four = blocks_for(objects.slots / 4 + 1);
  prepare_grid_kernel<<<std::min(blocks_for(cells + 1), prepare_blocks_max), block_threads, 0,
                        stream.get()>>>(objects, view_.count, cells, to);
  check_launch();
  count_kernel<<<blocks_of_four, block_threads, 0, stream.get()>>>(objects, to);
  check_launch();
  std::size_t bytes = workspace.scratch_.room();
  check(cub::DeviceScan::ExclusiveSum(workspace.scratch_.data(), bytes,
                                      static_cast<const std::uint32_t*>(to.counts), to.starts,
                                      cells + 1, stream.get()));
  scatter_kernel<<<blocks_of_four, block_threads, 0, stream.get()>>>(objects, to);
  check_launch();
  split_kernel<<<blocks_for(cells, split_warps), split_warps * 32, 0, stream.get()>>>(to);
  check_launch();
  split_large_kernel<<<split_large_blocks, split_large_threads, 0, stream.get()>>>(to);
  check_launch();
}

std::uint64_t DeviceGrid::bytes_used() const {
  return (starts_.room() + offsets_.room()) * sizeof(std::uint32_t) +
         points_.room() * sizeof(int2) + slots_.room() * sizeof(Slot);
}

}  // namespace starling::gpu
