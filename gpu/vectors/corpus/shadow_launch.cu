// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of shadow_kernel.cuh, for the queries of a batch or, after clearing the
// shadow's arrays, for the rows of a corpus: see shadow_launch.hpp.
#include <algorithm>
#include <type_traits>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/shadow_kernel.cuh"
#include "starling/gpu/vectors/corpus/shadow_launch.hpp"

namespace starling::gpu {

void make_shadow_async(const PanelsView& corpus, std::uint32_t rows, bool is_dot,
                       const ShadowView& shadow, const CudaStream& stream) {
  constexpr unsigned blocks_max = 4096;
  const std::uint64_t tiles = shadow_tiles(rows);
  const std::uint64_t rows_padded = tiles * shadow_tile_rows;
  const auto writable = [](const auto* view) {
    return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(view)>>*>(view);
  };
  const auto clear = [&](const auto* view, std::size_t count) {
    check(cudaMemsetAsync(writable(view), 0, count * sizeof(*view), stream.get()));
  };
  clear(shadow.halves, rows_padded * shadow.stride);
  clear(shadow.norms, rows_padded);
  clear(shadow.tiles, tiles);
  clear(shadow.center, shadow.stride / 4);
  clear(shadow.frame, 1);
  const std::uint32_t panels = blocks_for(rows, panel_rows);
  if (!is_dot)
    traced_launch(vector_center_kernel, {corpus.group_count, block_threads}, stream, corpus, panels,
                  writable(shadow.center));
  const std::uint64_t groups = std::uint64_t{panels} * corpus.group_count * panel_rows;
  traced_launch(vector_reach_kernel, {std::min(blocks_for(groups), blocks_max), block_threads},
                stream, corpus, rows, shadow.center, writable(shadow.frame));
  traced_launch(vector_shadow_kernel, {panels, block_threads}, stream, corpus, rows, shadow.center,
                shadow.stride, writable(shadow.halves), writable(shadow.norms),
                writable(shadow.tiles), writable(shadow.frame));
}

void make_query_shadows_async(const float* components, std::uint32_t count, std::uint32_t dimension,
                              const ShadowView& corpus, std::uint16_t* halves, ShadowQuery* queries,
                              const CudaStream& stream) {
  const std::uint64_t padded = shadow_tiles(count) * shadow_tile_rows;
  traced_launch(vector_shadow_queries_kernel, {blocks_for(padded * warp_lanes), block_threads},
                stream, components, count, dimension, corpus, halves, queries);
}

}  // namespace starling::gpu
