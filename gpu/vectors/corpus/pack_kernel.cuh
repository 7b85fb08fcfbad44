// SPDX-License-Identifier: Apache-2.0
// Kernels that pack rows into panels, unpack rows from panels, and prepare the queries and lists of
// a scan.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

/// Packs row-major rows into panels of `width` rows: writes the group with index `at` of these
/// panels. `components` is [row_count][dimension]. Components from `dimension` on and rows from
/// `row_count` on become 0. A thread writes one group; neighbouring threads write neighbouring
/// groups.
__device__ inline void pack_group(const float* components, std::uint32_t row_count,
                                  std::uint32_t dimension, std::uint32_t width,
                                  std::uint32_t group_count, float4* groups, std::uint64_t at) {
  const auto lane = static_cast<std::uint32_t>(at % width);
  const auto group = static_cast<std::uint32_t>(at / width % group_count);
  const std::uint64_t row = at / width / group_count * width + lane;
  float packed[4] = {};
  if (row < row_count) {
    const float* from = components + row * dimension + std::size_t{group} * 4;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      if (group * 4 + i < dimension) packed[i] = from[i];
  }
  groups[at] = float4{packed[0], packed[1], packed[2], packed[3]};
}

/// Packs components [row_count][dimension] into groups [count], which form panels of `width` rows.
/// Grid: one thread for each group.
__global__ void vector_pack_kernel(const float* components, std::uint32_t row_count,
                                   std::uint32_t dimension, std::uint32_t width,
                                   std::uint32_t group_count, float4* groups, std::uint64_t count) {
  const std::uint64_t at = thread_index();
  if (at < count) pack_group(components, row_count, dimension, width, group_count, groups, at);
}

/// Copies rows of `panels` to components [count], beginning with row `row_begin`. Each row has
/// `dimension` components there. Grid: one thread for each component.
__global__ void vector_unpack_kernel(const PanelsView panels, std::uint32_t row_begin,
                                     std::uint32_t dimension, float* components,
                                     std::uint64_t count) {
  const std::uint64_t at = thread_index();
  if (at >= count) return;
  const std::uint64_t row = row_begin + at / dimension;
  const auto component = static_cast<std::uint32_t>(at % dimension);
  const std::uint64_t group =
      (row / panels.width * panels.group_count + component / 4) * panels.width + row % panels.width;
  components[at] = reinterpret_cast<const float*>(panels.groups + group)[component % 4];
}

/// Packs the queries of a scan, components [query][dimension], into groups [count]. Also empties
/// their candidate lists: each count becomes 0, each bound infinity, and each slot unused. Grid of
/// any size.
__global__ void vector_begin_kernel(const float* components, std::uint32_t dimension,
                                    float4* groups, std::uint64_t count, const VectorScan scan) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = thread_index(); at < count; at += threads)
    pack_group(components, scan.query_count, dimension, scan.queries.width,
               scan.queries.group_count, groups, at);
  const CandidateLists& lists = scan.lists;
  for (std::uint64_t at = thread_index(); at < scan.query_count; at += threads) {
    lists.counts[at] = 0;
    lists.bounds[at] = ordered_infinity;
  }
  const std::uint64_t slots = std::uint64_t{scan.query_count} * lists.slot_count;
  for (std::uint64_t at = thread_index(); at < slots; at += threads)
    lists.slots[at] = ~std::uint32_t{0};
}

}  // namespace starling::gpu
