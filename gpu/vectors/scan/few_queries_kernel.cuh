// SPDX-License-Identifier: Apache-2.0
// The kernels of the scan for few queries. They read the corpus from memory into registers; each
// panel is read by one warp. few_queries_launch.cu launches them.
#pragma once

#include <cooperative_groups.h>

#include "starling/gpu/vectors/scan/candidates.cuh"
#include "starling/gpu/vectors/scan/panel_walk.cuh"

namespace starling::gpu {

/// While a lane works on this many groups of its row, it loads the same number of further groups.
/// The warps of a multiprocessor then have 48 KB of loads in flight. A multiprocessor needs only 24
/// KB in flight to reach 4.6 TB/s at a latency of 700 ns.
inline constexpr unsigned groups_ahead = 4;

inline constexpr unsigned few_queries_threads = 256;
inline constexpr unsigned few_queries_warps = few_queries_threads / warp_lanes;
/// Blocks that run on a multiprocessor at once. Their 24 warps hide each other's pauses between
/// panels.
inline constexpr unsigned few_queries_blocks = 3;

/// Returns the kernel's shared bytes: the components of all queries, padded to whole rounds of
/// groups_ahead groups.
template <unsigned queries>
constexpr std::size_t few_queries_shared_bytes(std::uint32_t group_count) {
  constexpr unsigned ahead = groups_ahead;
  return std::size_t{(group_count + ahead - 1) / ahead * ahead} * queries * sizeof(float4);
}

/// The part of a scan that a launch does. Before a bound is known, a warp must append all 32 rows
/// of its panel. Thousands of warps that begin at once would then do atomic operations on the same
/// few words. The passes avoid that. If no warp has more than one panel (`together`), all warps
/// record their scores in slots, wait for each other, and append only the rows within the bound. If
/// warps have several panels, a first launch reads a sample of the panels to get bounds (`sample`),
/// and a second launch uses these bounds (`after_sample`). With a sample, a search of one query
/// with k = 64 in 1,275,219 x 128 takes 0.18 ms instead of 0.26 ms.
enum class FewQueriesPass {
  together,      ///< at most one panel for each warp; all blocks run at once
  alone,         ///< all panels, without a sample, because warps have few panels
  sample,        ///< the first panel of each warp; writes slots only
  after_sample,  ///< all panels, after a sample
};

/// Records the scores of a panel in slots, and appends no candidate.
template <unsigned queries>
__device__ __forceinline__ void record_scores(const VectorScan& scan,
                                              const float (&scores)[1][queries],
                                              std::uint32_t row) {
#pragma unroll
  for (unsigned query = 0; query < queries; ++query) {
    if (query >= scan.query_count) break;
    // NaN compares false, so a NaN score is not recorded.
    if (row < scan.row_end && scores[0][query] < CUDART_INF_F && may_be_near(scan, query, row))
      atomicMin(scan.lists.slots + std::size_t{query} * scan.lists.slot_count +
                    (row & (scan.lists.slot_count - 1)),
                ordered_of(scores[0][query]));
  }
}

/// Does the same as bound_of_lane(), but computes the bounds from the slots. No warp may lower a
/// slot at the same time. Called by the whole block. Overwrites `bounds`, which is shared memory.
template <unsigned queries>
__device__ __forceinline__ float bound_of_all(const VectorScan& scan, std::uint32_t* bounds) {
  const CandidateLists& lists = scan.lists;
  const unsigned lane = threadIdx.x % warp_lanes;
  for (std::uint32_t query = threadIdx.x / warp_lanes; query < scan.query_count;
       query += few_queries_warps) {
    const std::uint32_t bound = bound_of_slots(lists.slots + std::size_t{query} * lists.slot_count,
                                               lists.slot_count, lists.k);
    if (lane == 0) bounds[query] = min(bound, __ldcg(lists.bounds + query));
  }
  __syncthreads();
  return lane < queries && lane < scan.query_count ? score_of_ordered(bounds[lane]) : CUDART_NAN_F;
}

/// Lowers the bound of each query to the bound that the query's slots give. Grid: one block of 32
/// threads for each query.
__global__ void vector_bounds_kernel(const CandidateLists lists) {
  renew_bound(lists, blockIdx.x);
}

/// Scores panels against all queries; scan.queries.width must be `queries`. Grid:
/// few_queries_blocks blocks for each multiprocessor, or fewer. Each warp visits panels as
/// PanelWalk says, and each lane has one row of a panel. A lane loads the groups of its row from
/// global memory; a load of the whole warp is 512 contiguous bytes. It loads the queries' groups
/// from shared memory, where all lanes read the same 16 bytes. Four components cost one global
/// load, `queries` shared loads and 8 * `queries` operations. Shared bytes:
/// few_queries_shared_bytes(). Writes candidates and slots; the pass `sample` writes only slots.
/// The pass `together` needs a cooperative launch, and at the end reuses the shared memory for
/// bounds.
template <FewQueriesPass pass, Recipe recipe, unsigned queries>
__global__ void __launch_bounds__(few_queries_threads, few_queries_blocks)
    few_queries_kernel(const VectorScan scan, const PanelWalk walk) {
  constexpr unsigned ahead = groups_ahead;
  extern __shared__ float4 shared_groups[];
  const std::uint32_t group_count = scan.corpus.group_count;
  const std::uint32_t round_count = (group_count + ahead - 1) / ahead;
  for (std::uint32_t i = threadIdx.x; i < round_count * ahead * queries; i += blockDim.x)
    shared_groups[i] = i < group_count * queries ? scan.queries.groups[i] : float4{0, 0, 0, 0};
  __syncthreads();

  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t warps = gridDim.x * few_queries_warps;
  const std::uint32_t warp = turn_of_warp(walk.multiprocessors) * gridDim.x + blockIdx.x;
  const bool has_panel = warp < scan.panel_count;
  if (pass != FewQueriesPass::together && !has_panel) return;
  auto panel = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * warp % scan.panel_count);
  constexpr bool has_one = pass == FewQueriesPass::together || pass == FewQueriesPass::sample;
  std::uint32_t panels = has_panel ? 1 : 0;
  if constexpr (!has_one) panels = (scan.panel_count - 1 - warp) / warps + 1;
  const float4* row = nullptr;  // the lane's row of the panel that is being loaded
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
  // Beginning the next panel early makes the loop longer. If a warp has only one panel, this would
  // cost 5 us of 80 us (70,000 x 784).
  constexpr bool begins_next = pass == FewQueriesPass::after_sample;
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
      // The first loads of the next panel start before this panel's candidates are appended.
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
              add_group<recipe>(round_queries[i * queries + query], groups[i], sums[query]);
    }
#pragma unroll
    for (unsigned query = 0; query < queries; ++query)
      scores[0][query] = score_of<recipe>(sums[query]);
    if constexpr (has_one) {
      record_scores(scan, scores, rows[0]);
      break;
    }
    // Rows of the sample are recorded again, each in the same slot.
    offer_scores(scan, scores, rows, 0, bound);
    if (warp < renewing_warps * scan.query_count && is_time_to_renew(done) && done < panels)
      renew_bound(scan.lists, warp % scan.query_count);
  }
  if constexpr (pass == FewQueriesPass::together) {
    cooperative_groups::this_grid().sync();
    const float bound =
        bound_of_all<queries>(scan, reinterpret_cast<std::uint32_t*>(shared_groups));
    if (has_panel) offer_scores(scan, scores, rows, 0, bound);
  }
}

}  // namespace starling::gpu
