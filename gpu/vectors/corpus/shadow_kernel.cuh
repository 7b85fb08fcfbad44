// SPDX-License-Identifier: Apache-2.0
// Kernels that make the shadows of rows (once for each corpus) and the shadows of queries (once for
// each batch).
#pragma once

#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/shadow_rows.cuh"

namespace starling::gpu {

/// The center is the mean of the rows of at most this many panels. Lists are right with any center;
/// a center near the rows makes the errors of shadows small.
inline constexpr std::uint32_t center_panels_max = 512;

/// Sets *to to the larger of *to and `value`. Neither may be negative, because only the bits of
/// non-negative floats have the order of the floats.
__device__ __forceinline__ void raise(float* to, float value) {
  atomicMax(reinterpret_cast<unsigned*>(to), __float_as_uint(value));
}

/// Writes center [group]: the mean of the rows of a sample of the corpus' panels. Grid: one block
/// for each group of components. The warps take the panels of the sample in turn, and each lane has
/// one row of a panel. Padding rows count as rows of zeros.
__global__ void vector_center_kernel(const PanelsView corpus, std::uint32_t panel_count,
                                     float4* center) {
  __shared__ float4 sums[block_threads / warp_lanes];
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t step = (panel_count + center_panels_max - 1) / center_panels_max;
  float4 sum = {0, 0, 0, 0};
  std::uint32_t seen = 0;
  for (std::uint32_t panel = 0; panel < panel_count; panel += step, ++seen) {
    if (seen % (block_threads / warp_lanes) != warp) continue;
    const float4 x =
        corpus.groups[(std::size_t{panel} * corpus.group_count + blockIdx.x) * panel_rows + lane];
    sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
  }
  for (unsigned step_lanes = warp_lanes / 2; step_lanes > 0; step_lanes /= 2) {
    const int other = static_cast<int>(step_lanes);
    sum.x += __shfl_xor_sync(all_lanes, sum.x, other);
    sum.y += __shfl_xor_sync(all_lanes, sum.y, other);
    sum.z += __shfl_xor_sync(all_lanes, sum.z, other);
    sum.w += __shfl_xor_sync(all_lanes, sum.w, other);
  }
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (unsigned other = 1; other < block_threads / warp_lanes; ++other) {
    sum.x += sums[other].x;
    sum.y += sums[other].y;
    sum.z += sums[other].z;
    sum.w += sums[other].w;
  }
  const float share = 1.0f / static_cast<float>(seen * panel_rows);
  center[blockIdx.x] = {sum.x * share, sum.y * share, sum.z * share, sum.w * share};
}

/// Sets frame->reach_bits, which must be 0 before, to the bits of the largest |x[j] - center[j]| of
/// all rows. Grid of any size; lane 0 of each warp writes.
__global__ void vector_reach_kernel(const PanelsView corpus, std::uint32_t rows,
                                    const float4* center, ShadowFrame* frame) {
  const std::uint64_t count =
      std::uint64_t{(rows + panel_rows - 1) / panel_rows} * corpus.group_count * panel_rows;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  float reach = 0;
  for (std::uint64_t at = thread_index(); at < count; at += threads) {
    const std::uint64_t panel_group = at / panel_rows;
    const std::uint64_t row = panel_group / corpus.group_count * panel_rows + at % panel_rows;
    if (row >= rows) continue;
    const float4 x = corpus.groups[at];
    const float4 c = center[panel_group % corpus.group_count];
    reach = fmaxf(reach, fmaxf(fmaxf(fabsf(x.x - c.x), fabsf(x.y - c.y)),
                               fmaxf(fabsf(x.z - c.z), fabsf(x.w - c.w))));
  }
  const std::uint32_t bits = max_in_warp(__float_as_uint(reach));
  if (threadIdx.x % warp_lanes == 0) atomicMax(&frame->reach_bits, bits);
}

/// Writes the rows' halves and norms [row], and raises the maxima in tiles and frame. These maxima
/// and `halves` must be 0 before. Grid: one block for each panel. Lane l of every warp has row l of
/// the panel. The warps take the groups of components in turn, and warp 0 adds up the sums of all
/// warps. Shared bytes: 4 KB.
__global__ void __launch_bounds__(block_threads)
    vector_shadow_kernel(const PanelsView corpus, std::uint32_t rows, const float4* center,
                         std::uint32_t stride, std::uint16_t* halves, ShadowNorms* norms,
                         ShadowTile* tiles, ShadowFrame* frame) {
  constexpr unsigned warps = block_threads / warp_lanes;
  __shared__ ShadowSums parts[warps][warp_lanes];
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t row = blockIdx.x * panel_rows + lane;
  const double scale = scale_of(*frame);
  ShadowSums sums;
  if (row < rows)
    for (std::uint32_t group = warp; group < corpus.group_count; group += warps) {
      const float4 x =
          corpus.groups[(std::size_t{blockIdx.x} * corpus.group_count + group) * panel_rows + lane];
      const float4 c = center[group];
      const __half2 first = {sums.add(x.x, c.x, scale), sums.add(x.y, c.y, scale)};
      const __half2 second = {sums.add(x.z, c.z, scale), sums.add(x.w, c.w, scale)};
      uint2 packed;
      packed.x = *reinterpret_cast<const unsigned*>(&first);
      packed.y = *reinterpret_cast<const unsigned*>(&second);
      *reinterpret_cast<uint2*>(halves + shadow_place(stride, row, group * 4)) = packed;
    }
  parts[warp][lane] = sums;
  __syncthreads();
  if (warp > 0 || row >= rows) return;
  for (unsigned other = 1; other < warps; ++other) sums.add(parts[other][lane]);
  const ShadowNorms found = {sums.half_norm(), sums.error()};
  norms[row] = found;
  ShadowTile& tile = tiles[row / shadow_tile_rows];
  raise(&tile.error_max, found.error);
  raise(&tile.half_norm_max, found.half_norm);
  raise(&frame->error_max, found.error);
  raise(&frame->half_norm_max, found.half_norm);
}

/// Writes the shadows of all queries. Grid: one warp for each query, including the queries that pad
/// the last tile.
__global__ void __launch_bounds__(block_threads)
    vector_shadow_queries_kernel(const float* components, std::uint32_t count,
                                 std::uint32_t dimension, const ShadowView corpus,
                                 std::uint16_t* halves, ShadowQuery* queries) {
  if (thread_index() / warp_lanes < shadow_tiles(count) * shadow_tile_rows)
    write_query_shadow<warp_lanes>(components, count, dimension, corpus, halves, queries);
}

}  // namespace starling::gpu
