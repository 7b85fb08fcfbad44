// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of store_kernel.cuh and chooses vector_near_kernel by the recipe: see
// store_launch.hpp.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/store_kernel.cuh"
#include "starling/gpu/vectors/store_launch.hpp"

namespace starling::gpu {

void write_rows_async(const AppliedRows& rows, float4* groups, const CudaStream& stream) {
  if (rows.count == 0) return;
  const std::uint32_t group_count = group_count_of(rows.dimension);
  traced_launch(vector_write_rows_kernel,
                {blocks_for(std::uint64_t{rows.count} * group_count), block_threads}, stream, rows,
                groups, group_count);
}

void gather_rows_async(const PanelsView& panels, const Slot* slots, std::uint32_t count,
                       std::uint32_t dimension, float* components, const CudaStream& stream) {
  if (count == 0) return;
  traced_launch(vector_gather_rows_kernel,
                {blocks_for(std::uint64_t{count} * dimension), block_threads}, stream, panels,
                slots, count, dimension, components);
}

void near_scan_async(const NearScan& scan, const CudaStream& stream) {
  if (scan.row_count == 0 || scan.query_count == 0) return;
  const dim3 blocks(blocks_for(scan.row_count, NearShape::warps * panel_rows),
                    blocks_for(scan.query_count, NearShape::queries));
  with_recipe(scan.recipe, [&](auto recipe) {
    traced_launch(vector_near_kernel<decltype(recipe)::value>, {blocks, NearShape::threads}, stream,
                  scan);
  });
}

}  // namespace starling::gpu
