// Few queries: the corpus streams once from memory through registers, each panel by a warp.
#pragma once

#include <cooperative_groups.h>

#include "gpu/vectors/scan/candidates.cuh"

namespace starling::gpu {

/// Groups of a lane's row that are on their way while as many are worked on: 48 KB of a
/// multiprocessor with those of all its warps, of which 4.6 TB/s and 700 ns take 24.
inline constexpr unsigned groups_ahead = 4;

inline constexpr unsigned stream_threads = 256;
inline constexpr unsigned stream_warps = stream_threads / warp_lanes;
/// Of a multiprocessor: 24 warps, which hide each other's pauses between panels.
inline constexpr unsigned stream_blocks = 3;

/// Warps that renew a query's bound; the others would find the same.
inline constexpr std::uint32_t renewing_warps = 32;

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

/// What a launch is in a scan. Every warp would offer the whole of its first panel, since nothing
/// is known of any bound: 32 candidates of each of thousands of warps, each an atomic operation on
/// the same few words. Where each has one panel at most, all wait for all to have recorded their
/// scores, and offer whom the bound leaves. Where each has several, a sample of the panels gives
/// bounds before. 1,275,219 x 128, one query, k 64: 0.26 ms without.
enum class StreamPass {
  together,      ///< one panel a warp at most; all blocks run at once
  alone,         ///< no sample: what a warp has is soon done
  sample,        ///< the first panel of each warp; only slots are written
  after_sample,  ///< all panels
};

/// Records a panel's scores in slots, and offers nobody.
template <unsigned queries>
__device__ __forceinline__ void record_scores(const VectorScan& scan,
                                              const float (&scores)[1][queries],
                                              std::uint32_t row) {
#pragma unroll
  for (unsigned query = 0; query < queries; ++query) {
    if (query >= scan.query_count) break;
    // What is no number is nobody's score.
    if (row < scan.row_end && scores[0][query] < CUDART_INF_F && may_be_near(scan, query, row))
      atomicMin(scan.lists.slots + std::size_t{query} * scan.lists.slot_count +
                    (row & (scan.lists.slot_count - 1)),
                ordered_of(scores[0][query]));
  }
}

/// As bound_of_lane, of slots that nobody writes any more. By the whole block; `bounds` is shared
/// memory that nobody reads any more.
template <unsigned queries>
__device__ __forceinline__ float bound_of_all(const VectorScan& scan, std::uint32_t* bounds) {
  const CandidateLists& lists = scan.lists;
  const unsigned lane = threadIdx.x % warp_lanes;
  for (std::uint32_t query = threadIdx.x / warp_lanes; query < scan.query_count;
       query += stream_warps) {
    const std::uint32_t bound = bound_of_slots(lists.slots + std::size_t{query} * lists.slot_count,
                                               lists.slot_count, lists.k);
    if (lane == 0) bounds[query] = min(bound, __ldcg(lists.bounds + query));
  }
  __syncthreads();
  return lane < queries && lane < scan.query_count ? score_of_ordered(bounds[lane]) : CUDART_NAN_F;
}

/// A warp a query: its bound, from its slots. Grid: queries blocks of 32.
__global__ void vector_bounds_kernel(const CandidateLists lists) {
  renew_bound(lists, blockIdx.x);
}

/// Each warp scores whole panels against all queries (queries.width = `queries`): a lane has a row,
/// reads its groups from global memory as they lie, 512 bytes a warp, and the queries' from shared
/// memory, all lanes the same 16 bytes. Per four components: one load of the row, `queries` of
/// shared memory, 8 * queries operations. `together` is launched cooperatively, and its blocks use
/// their shared memory for bounds afterwards.
template <StreamPass pass, bool is_dot, unsigned queries>
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
  const bool has_panel = warp < scan.panel_count;
  if (pass != StreamPass::together && !has_panel) return;
  auto panel = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * warp % scan.panel_count);
  constexpr bool has_one = pass == StreamPass::together || pass == StreamPass::sample;
  std::uint32_t panels = has_panel ? 1 : 0;
  if constexpr (!has_one) panels = (scan.panel_count - 1 - warp) / warps + 1;
  const float4* row = nullptr;  // the lane's, of the panel that is being read
  float4 next[ahead];
  const auto read_round = [&](std::uint32_t round) {
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const std::uint32_t group = round * ahead + i;
      next[i] = group < group_count ? read_once(row + std::size_t{group} * panel_rows)
                                    : float4{0, 0, 0, 0};
    }
  };
  const auto begin_panel = [&](std::uint32_t number) {
    row = scan.corpus.groups + std::size_t{scan.panel_begin + number} * group_count * panel_rows +
          lane;
    read_round(0);
  };
  // Where a warp has but one panel the longer loop costs 5 us of 80 (70,000 x 784).
  constexpr bool begins_next = pass == StreamPass::after_sample;
  if (begins_next) begin_panel(panel);
  float scores[1][queries] = {};
  std::uint32_t rows[1] = {scan.row_end};
  for (std::uint32_t done = 1; done <= panels; ++done) {
    if (!begins_next) begin_panel(panel);
    rows[0] = (scan.panel_begin + panel) * panel_rows + lane;
    panel += walk.warp_step;
    if (panel >= scan.panel_count) panel -= scan.panel_count;
    const float bound = bound_of_lane<queries>(scan, 0);
    float sums[queries] = {};
#pragma unroll 1
    for (std::uint32_t round = 0; round < round_count; ++round) {
      float4 groups[ahead];
#pragma unroll
      for (unsigned i = 0; i < ahead; ++i) groups[i] = next[i];
      // The next panel begins before this one's candidates are picked.
      if (round + 1 < round_count)
        read_round(round + 1);
      else if (begins_next && done < panels)
        begin_panel(panel);
      const float4* round_queries = shared_groups + round * ahead * queries;
#pragma unroll
      for (unsigned i = 0; i < ahead; ++i)
#pragma unroll
        for (unsigned query = 0; query < queries; ++query)
          sums[query] =
              add_group<is_dot>(groups[i], round_queries[i * queries + query], sums[query]);
    }
#pragma unroll
    for (unsigned query = 0; query < queries; ++query)
      scores[0][query] = score_of<is_dot>(sums[query]);
    if constexpr (has_one) {
      record_scores(scan, scores, rows[0]);
      break;
    }
    // Rows that were recorded before are recorded in the same slots again.
    offer_scores(scan, scores, rows, 0, bound);
    if (warp < renewing_warps * scan.query_count && is_time_to_renew(done) && done < panels)
      renew_bound(scan.lists, warp % scan.query_count);
  }
  if constexpr (pass == StreamPass::together) {
    cooperative_groups::this_grid().sync();
    const float bound =
        bound_of_all<queries>(scan, reinterpret_cast<std::uint32_t*>(shared_groups));
    if (has_panel) offer_scores(scan, scores, rows, 0, bound);
  }
}

}  // namespace starling::gpu
