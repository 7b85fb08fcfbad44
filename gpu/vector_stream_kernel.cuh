// Few queries: the corpus streams once from memory through registers, every warp for itself.
#pragma once

#include "gpu/vector_candidates.cuh"

namespace starling::gpu {

/// Groups of a lane's row that are on their way while as many are worked on: 48 KB of a
/// multiprocessor with those of all its warps, of which 4.6 TB/s and 700 ns take 24.
inline constexpr unsigned groups_ahead = 4;

inline constexpr unsigned stream_threads = 256;
inline constexpr unsigned stream_warps = stream_threads / warp_lanes;
/// Of a multiprocessor: 24 warps, which hide each other's pauses between panels.
inline constexpr unsigned stream_blocks = 3;

/// Shared bytes: all queries' components, padded to whole rounds of groups.
template <unsigned queries>
constexpr std::size_t stream_shared_bytes(std::uint32_t group_count) {
  constexpr unsigned ahead = groups_ahead;
  return std::size_t{(group_count + ahead - 1) / ahead * ahead} * queries * sizeof(float4);
}

/// Read once: it leaves the first cache alone.
__device__ __forceinline__ float4 read_once(const float4* from) {
  float4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(from));
  return value;
}

/// A warp's way through the panels: from its own number in steps of `step`, around the end, each
/// panel of the scan by one warp. The step is prime to the count and far from both ends, so that
/// whatever order the rows are in, the first seen are a sample of all.
struct PanelWalk {
  std::uint32_t first_step = 0;  ///< between the first panels of neighbouring warps
  std::uint32_t warp_step = 0;   ///< between two panels of a warp: first_step * warps % count
  std::uint32_t multiprocessors = 1;
};

/// When it is this warp's turn among those of its block: turn 0 of all blocks comes before turn 1
/// of any. Where panels are about as many as warps, the last turns have none; of the blocks that
/// share a multiprocessor, every `multiprocessors`-th, turns then lie evenly on its four
/// schedulers, each of which has every fourth warp.
__device__ __forceinline__ std::uint32_t turn_of_warp(std::uint32_t multiprocessors) {
  const std::uint32_t warp = threadIdx.x / warp_lanes;
  return (blockIdx.x / multiprocessors - warp) % 4 + warp / 4 * 4;
}

/// Each warp scores whole panels against all queries (queries.width = `queries`): a lane has a row,
/// reads its groups from global memory as they lie, 512 bytes a warp, and the queries' from shared
/// memory, all lanes the same 16 bytes. Per four components: one load of the row, `queries` of
/// shared memory, 8 * queries operations.
template <bool is_dot, unsigned queries>
__global__ void __launch_bounds__(stream_threads, stream_blocks)
    vector_stream_kernel(const VectorScan scan, const PanelWalk walk) {
  constexpr unsigned ahead = groups_ahead;
  extern __shared__ float4 shared_groups[];
  const std::uint32_t group_count = scan.corpus.group_count;
  const std::uint32_t round_count = (group_count + ahead - 1) / ahead;
  for (std::uint32_t i = threadIdx.x; i < round_count * ahead * queries; i += blockDim.x)
    shared_groups[i] = i < group_count * queries ? scan.queries.groups[i] : float4{0, 0, 0, 0};
  __syncthreads();

  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t warps = gridDim.x * stream_warps;
  const std::uint32_t warp = turn_of_warp(walk.multiprocessors) * gridDim.x + blockIdx.x;
  if (warp >= scan.panel_count) return;
  auto panel = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * warp % scan.panel_count);
  const std::uint32_t panels = (scan.panel_count - 1 - warp) / warps + 1;
  for (std::uint32_t done = 1; done <= panels; ++done) {
    const float4* row = scan.corpus.groups +
                        std::size_t{scan.panel_begin + panel} * group_count * panel_rows + lane;
    float4 next[ahead];
    const auto read_round = [&](std::uint32_t round) {
#pragma unroll
      for (unsigned i = 0; i < ahead; ++i) {
        const std::uint32_t group = round * ahead + i;
        next[i] = group < group_count ? read_once(row + std::size_t{group} * panel_rows)
                                      : float4{0, 0, 0, 0};
      }
    };
    read_round(0);
    const float bound = bound_of_lane<queries>(scan, 0);
    float sums[queries] = {};
#pragma unroll 1
    for (std::uint32_t round = 0; round < round_count; ++round) {
      float4 groups[ahead];
#pragma unroll
      for (unsigned i = 0; i < ahead; ++i) groups[i] = next[i];
      if (round + 1 < round_count) read_round(round + 1);
      const float4* round_queries = shared_groups + round * ahead * queries;
#pragma unroll
      for (unsigned i = 0; i < ahead; ++i)
#pragma unroll
        for (unsigned query = 0; query < queries; ++query)
          sums[query] =
              add_group<is_dot>(groups[i], round_queries[i * queries + query], sums[query]);
    }
    const std::uint32_t rows[1] = {(scan.panel_begin + panel) * panel_rows + lane};
    panel += walk.warp_step;
    if (panel >= scan.panel_count) panel -= scan.panel_count;
    float scores[1][queries];
#pragma unroll
    for (unsigned query = 0; query < queries; ++query)
      scores[0][query] = score_of<is_dot>(sums[query]);
    offer_scores<Recording::panels>(scan, scores, rows, 0, bound);
    // All warps together renew all queries' bounds, one each.
    if (is_time_to_renew(done) && done < panels) renew_bound(scan.lists, warp % scan.query_count);
  }
}

}  // namespace starling::gpu
