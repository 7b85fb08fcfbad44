// SPDX-License-Identifier: Apache-2.0
// Decides whether a warp or a block selects from a row, and from how many rows at once: as many as
// there are resident blocks and room for partitions. See quick_multiselect.hpp. The kernel is in
// quick_multiselect_kernel.cuh.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect.hpp"
#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect_kernel.cuh"
#include "starling/gpu/vectors/methods/matrix_batches.hpp"

namespace starling::gpu {
namespace {

using SelectKernel = void (*)(RowSelection, PartitionRoom);

constexpr unsigned select_block_threads = 256;
constexpr SelectKernel block_kernel = quick_multiselect_kernel<select_block_threads, 0>;

/// Returns the kernel in which a warp selects from a row.
SelectKernel warp_kernel(std::uint32_t k) {
  switch (warp_sort_each(k)) {
    case 2:
      return quick_multiselect_kernel<warp_lanes, 2>;
    case 4:
      return quick_multiselect_kernel<warp_lanes, 4>;
    case 8:
      return quick_multiselect_kernel<warp_lanes, 8>;
    default:
      return quick_multiselect_kernel<warp_lanes, warp_sort_each_max>;
  }
}

bool may_select_by_warp(std::uint32_t k) {
  return k <= warp_sort_each_max * warp_lanes;
}

bool is_for_warps(const RowSelection& selection) {
  if (selection.by != SelectedBy::whoever_is_faster)
    return selection.by == SelectedBy::warp && may_select_by_warp(selection.k);
  // Warps are faster if there are enough rows to fill the device with warps, 32 for each
  // multiprocessor. With long rows the last warps run alone (docs/vector-methods.md).
  return selection.rows >= 32 * multiprocessor_count() && selection.columns <= 1u << 16 &&
         may_select_by_warp(selection.k);
}

}  // namespace

void QuickMultiselect::select_async(const RowSelection& selection, const CudaStream& stream) {
  constexpr std::uint32_t sort_least = 64;
  constexpr std::uint32_t room_least = 4096;
  if (selection.rows == 0) return;
  const bool is_warp = is_for_warps(selection);
  const SelectKernel kernel = is_warp ? warp_kernel(selection.k) : block_kernel;
  const unsigned threads = is_warp ? warp_lanes : select_block_threads;
  PartitionRoom partitions;
  partitions.sort_room = is_warp ? 2 * warp_sort_each(selection.k) * warp_lanes : sort_least;
  while (partitions.sort_room < selection.k + selection.k / 2) partitions.sort_room *= 2;
  // A pivot comes from a sample of 512 keys. The keys up to a pivot are rarely more than 16 / 512
  // of the row or twice sort_room, whichever is more.
  partitions.room = std::max({selection.columns / 32, room_least, 2 * partitions.sort_room});
  // A warp sorts keys in registers, one half of sort_room at a time.
  const std::size_t shared_bytes = partitions.sort_room * sizeof(std::uint64_t) / (is_warp ? 2 : 1);
  unsigned groups = std::min(selection.rows, resident_blocks(kernel, threads, shared_bytes));
  const std::uint64_t group_bytes = std::uint64_t{2} * partitions.room * sizeof(std::uint64_t);
  groups = static_cast<unsigned>(
      std::clamp<std::uint64_t>(bytes_max_ / group_bytes, 1, std::uint64_t{groups}));
  ensure_room(partitions_, memory_, groups * group_bytes / sizeof(std::uint64_t), stream);
  partitions.keys = partitions_.data();
  traced_launch(kernel, {groups, threads, shared_bytes}, stream, selection, partitions);
}

}  // namespace starling::gpu
