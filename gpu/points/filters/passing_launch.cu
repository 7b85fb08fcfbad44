// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of passing_kernel.cuh. If there are few objects, several blocks share the
// filters: see passing_launch.hpp.
#include "starling/gpu/points/filters/passing_kernel.cuh"
#include "starling/gpu/points/filters/passing_launch.hpp"

namespace starling::gpu {
namespace {

/// About this many blocks keep every multiprocessor busy.
constexpr std::uint32_t blocks_wanted = 1024;

struct PassingGrid {
  dim3 blocks;
  std::uint32_t filters_a_block;
};

PassingGrid grid_for(std::uint32_t slots, std::uint32_t filters) {
  const std::uint32_t blocks = blocks_for(slots, objects_a_block);
  const std::uint32_t groups = blocks_for(filters, filters_at_once);
  const std::uint32_t parts = std::min(groups, std::max(blocks_wanted / blocks, 1u));
  const std::uint32_t filters_a_block =
      std::min(blocks_for(groups, parts) * filters_at_once, filters_a_block_max);
  return {dim3(blocks, blocks_for(filters, filters_a_block)), filters_a_block};
}

/// Returns the number of blocks for a kernel that reads or writes pinned memory. The bus to the
/// host limits such a kernel, so it gets few blocks.
unsigned blocks_over_bus(std::uint32_t count) {
  constexpr unsigned blocks_max = 8;
  return std::min(blocks_for(count), blocks_max);
}

}  // namespace

void count_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                         std::uint32_t count, const AgeLimits& ages, std::uint32_t* counts,
                         const CudaStream& stream) {
  if (objects.slots == 0 || count == 0) return;
  const PassingGrid grid = grid_for(objects.slots, count);
  count_passing_kernel<<<grid.blocks, block_threads, 0, stream.get()>>>(
      objects, filters, count, grid.filters_a_block, ages, counts);
  check_launch();
}

void tell_counts_async(std::uint32_t* counts, std::uint32_t count, std::uint32_t* host,
                       const CudaStream& stream) {
  if (count == 0) return;
  tell_counts_kernel<<<blocks_over_bus(count), block_threads, 0, stream.get()>>>(counts, count,
                                                                                 host);
  check_launch();
}

void take_choice_async(const LayerChoice& from, const LayerChoice& to, std::uint32_t filters,
                       std::uint32_t layers, std::uint32_t group, const LayerOutput& output,
                       const CudaStream& stream) {
  if (filters == 0) return;
  take_choice_kernel<<<blocks_over_bus(filters), block_threads, 0, stream.get()>>>(
      from, to, filters, layers, group, output);
  check_launch();
}

void list_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                        const LayerChoice& choice, std::uint32_t layers, const AgeLimits& ages,
                        const LayerOutput& output, const CudaStream& stream) {
  if (objects.slots == 0 || layers == 0) return;
  const PassingGrid grid = grid_for(objects.slots, layers);
  list_passing_kernel<<<grid.blocks, block_threads, 0, stream.get()>>>(
      objects, filters, choice.numbers, layers, grid.filters_a_block, ages, output);
  check_launch();
}

}  // namespace starling::gpu
