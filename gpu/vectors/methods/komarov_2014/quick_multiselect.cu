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

constexpr unsigned select_block_threads = 256;

template <unsigned threads>
unsigned groups_at_once(const RowSelection& selection, std::size_t shared_bytes) {
  return std::min(selection.rows,
                  resident_blocks(quick_multiselect_kernel<threads>, threads, shared_bytes));
}

bool is_for_warps(const RowSelection& selection) {
  if (selection.by != SelectedBy::whoever_is_faster) return selection.by == SelectedBy::warp;
  // Warps are faster if there are enough rows to fill the device with warps, 32 for each
  // multiprocessor. But a warp takes longer than a block to sort, and with long rows the last warps
  // run alone (docs/vector-methods.md).
  return selection.rows >= 32 * multiprocessor_count() && selection.columns <= 1u << 16 &&
         selection.k <= 512;
}

}  // namespace

void QuickMultiselect::select_async(const RowSelection& selection, const CudaStream& stream) {
  constexpr std::uint32_t sort_least = 64;
  constexpr std::uint32_t room_least = 4096;
  if (selection.rows == 0) return;
  PartitionRoom partitions;
  partitions.sort_room = sort_least;
  while (partitions.sort_room < selection.k + selection.k / 2) partitions.sort_room *= 2;
  // A pivot comes from a sample of 512 keys. The keys up to a pivot are rarely more than 16 / 512
  // of the row or twice sort_room, whichever is more.
  partitions.room = std::max({selection.columns / 32, room_least, 2 * partitions.sort_room});
  const std::size_t shared_bytes = partitions.sort_room * sizeof(std::uint64_t);
  const bool is_warp = is_for_warps(selection);
  unsigned groups = is_warp ? groups_at_once<warp_lanes>(selection, shared_bytes)
                            : groups_at_once<select_block_threads>(selection, shared_bytes);
  const std::uint64_t group_bytes = std::uint64_t{2} * partitions.room * sizeof(std::uint64_t);
  groups = static_cast<unsigned>(
      std::clamp<std::uint64_t>(bytes_max_ / group_bytes, 1, std::uint64_t{groups}));
  ensure_room(partitions_, memory_, groups * group_bytes / sizeof(std::uint64_t), stream);
  partitions.keys = partitions_.data();
  traced_launch(is_warp ? quick_multiselect_kernel<warp_lanes>
                        : quick_multiselect_kernel<select_block_threads>,
                {groups, is_warp ? warp_lanes : select_block_threads, shared_bytes}, stream,
                selection, partitions);
}

}  // namespace starling::gpu
