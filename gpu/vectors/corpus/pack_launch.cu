// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of pack_kernel.cuh, with a thread for each group or component: see
// pack_launch.hpp.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/pack_kernel.cuh"
#include "starling/gpu/vectors/corpus/pack_launch.hpp"

namespace starling::gpu {

void pack_async(const float* components, std::uint32_t count, std::uint32_t dimension,
                std::uint32_t width, float4* groups, const CudaStream& stream) {
  const std::uint64_t all_groups = packed_groups(count, width, dimension);
  if (all_groups == 0) return;
  traced_launch(vector_pack_kernel, {blocks_for(all_groups), block_threads}, stream, components,
                count, dimension, width, group_count_of(dimension), groups, all_groups);
}

void unpack_async(const PanelsView& panels, std::uint32_t row_begin, std::uint32_t row_count,
                  std::uint32_t dimension, float* components, const CudaStream& stream) {
  const std::uint64_t count = std::uint64_t{row_count} * dimension;
  if (count == 0) return;
  traced_launch(vector_unpack_kernel, {blocks_for(count), block_threads}, stream, panels, row_begin,
                dimension, components, count);
}

void begin_scan_async(const float* components, std::uint32_t dimension, float4* groups,
                      const VectorScan& scan, const CudaStream& stream) {
  constexpr unsigned blocks_max = 1024;
  const std::uint64_t count = packed_groups(scan.query_count, scan.queries.width, dimension);
  const std::uint64_t slots = std::uint64_t{scan.query_count} * scan.lists.slot_count;
  const unsigned blocks = std::min(blocks_for(std::max(count, slots)), blocks_max);
  traced_launch(&vector_begin_kernel, {blocks, block_threads}, stream, components, dimension,
                groups, count, scan);
}

}  // namespace starling::gpu
