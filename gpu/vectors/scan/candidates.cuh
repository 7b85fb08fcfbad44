// SPDX-License-Identifier: Apache-2.0
// Turns the scores of a warp into candidates, and lowers the bounds that all blocks share. The
// scans for few and for many queries and the kernel that finishes lists include this file.
#pragma once

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

/// Returns true if a warp that has done `done` panels or tiles should renew its bounds now: after
/// 1, 2, 3, 4, 6, 8, 12, 16, ... The k-th least of n scores hardly falls until n has grown by half.
__device__ __forceinline__ bool is_time_to_renew(std::uint32_t done) {
  const int bits = __popc(done);
  return bits == 1 || (bits == 2 && (done & (done >> 1)) != 0);
}

/// bound_of_slots() holds the slots in registers if there are at most this many.
inline constexpr std::uint32_t bound_slots_held = 256;

/// Returns an ordered score that is equal to the k-th least slot or a little larger. Returns
/// ordered_infinity if fewer than k slots are used. Called by a whole warp; every lane has the
/// result.
///
/// Bisects the range of values until at most k + k / 8 slots are within the bound. This takes 6 to
/// 10 steps, and each step counts slots. If there are at most bound_slots_held slots, each slot is
/// read only once. Otherwise all slots are read again in each step.
__device__ inline std::uint32_t bound_of_slots(const std::uint32_t* slots, std::uint32_t slot_count,
                                               std::uint32_t k) {
  constexpr unsigned held_max = bound_slots_held / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const bool is_held = slot_count <= held_max * warp_lanes;
  std::uint32_t held[held_max];
#pragma unroll
  for (unsigned i = 0; i < held_max; ++i) {
    const std::uint32_t at = i * warp_lanes + lane;
    held[i] = at < slot_count ? __ldcg(slots + at) : ~std::uint32_t{0};
  }
  const auto for_each = [&](const auto& take) {
    if (is_held) {
#pragma unroll
      for (unsigned i = 0; i < held_max; ++i) take(held[i]);
    } else {
#pragma unroll 8
      for (std::uint32_t at = lane; at < slot_count; at += warp_lanes) take(__ldcg(slots + at));
    }
  };
  const auto count_within = [&](std::uint32_t bound) {
    std::uint32_t count = 0;
    for_each([&](std::uint32_t value) { count += value <= bound ? 1 : 0; });
    return __reduce_add_sync(all_lanes, count);
  };
  std::uint32_t low = ~std::uint32_t{0};
  std::uint32_t high = 0;
  std::uint32_t count = 0;
  for_each([&](std::uint32_t value) {
    low = min(low, value);
    high = value < ordered_infinity ? max(high, value) : high;
    count += value < ordered_infinity ? 1 : 0;
  });
  low = __reduce_min_sync(all_lanes, low);
  high = __reduce_max_sync(all_lanes, high);
  count = __reduce_add_sync(all_lanes, count);
  // Other warps may lower slots meanwhile, so later counts are never smaller.
  if (count < k) return ordered_infinity;
  if (low > 0) --low;  // no slot was within `low` when the slots were read
  while (count > k + k / 8 && high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uint32_t within = count_within(middle);
    if (within >= k) {
      high = middle;
      count = within;
    } else {
      low = middle;
    }
  }
  return high;
}

/// Lowers the bound of one query to the bound_of_slots() of its slots. Called by a whole warp.
__device__ inline void renew_bound(const CandidateLists& lists, std::uint32_t query) {
  const std::uint32_t bound = bound_of_slots(lists.slots + std::size_t{query} * lists.slot_count,
                                             lists.slot_count, lists.k);
  // Most warps that renew at the same time find the same bound. Only a lower bound is written.
  if (threadIdx.x % warp_lanes == 0 && bound < __ldcg(lists.bounds + query))
    atomicMin(lists.bounds + query, bound);
}

/// Returns, in each lane below `queries`, the bound of query `first + lane` as a score. A lane
/// without a query returns NaN: its scores come from uninitialised memory, and no score is within
/// the bound NaN.
template <unsigned queries>
__device__ __forceinline__ float bound_of_lane(const VectorScan& scan, std::uint32_t first) {
  const std::uint32_t query = first + threadIdx.x % warp_lanes;
  if (threadIdx.x % warp_lanes >= queries || query >= scan.query_count) return CUDART_NAN_F;
  return score_of_ordered(__ldcg(scan.lists.bounds + query));
}

/// Returns true if the scan allows `row` as a neighbour of `query`. `row` and `query` are indices
/// within the scan.
__device__ __forceinline__ bool may_be_near(const VectorScan& scan, std::uint32_t query,
                                            std::uint32_t row) {
  if (scan.filters == nullptr) return scan.first_row + row != scan.first_self + query;
  const RowFilter filter = scan.filters[query];
  if (scan.first_row + row == filter.self) return false;
  if (filter.mask == RowFilter::no_mask) return true;
  const std::uint64_t word = scan.masks.words[filter.mask * scan.masks.words_each + row / 64];
  return (word >> row % 64 & 1) != 0;
}

/// Appends rows to the candidate lists of a warp's queries if their scores are within the queries'
/// bounds, and records these scores in slots. scores[panel][query] is the score of the lane's row
/// in that panel. `rows` are the indices of the lane's rows in the scan; rows from row_end on are
/// ignored. `first_query` is the index in the scan of the warp's query 0. `bound` comes from
/// bound_of_lane(). Called by a whole warp. One atomic instruction of the warp reserves the list
/// entries of all its queries: lane i reserves those of query i.
template <unsigned panels, unsigned queries>
__device__ __forceinline__ void offer_scores(const VectorScan& scan,
                                             const float (&scores)[panels][queries],
                                             const std::uint32_t (&rows)[panels],
                                             std::uint32_t first_query, float bound) {
  static_assert(queries <= warp_lanes);
  const unsigned lane = threadIdx.x % warp_lanes;
  const auto is_within = [&](unsigned panel, unsigned query, float query_bound) {
    return scores[panel][query] <= query_bound && rows[panel] < scan.row_end &&
           may_be_near(scan, first_query + query, rows[panel]);
  };
  unsigned hit = 0;
#pragma unroll
  for (unsigned query = 0; query < queries; ++query) {
    float least = scores[0][query];
#pragma unroll
    for (unsigned panel = 1; panel < panels; ++panel) least = fminf(least, scores[panel][query]);
    if (any_in_warp(least <= __shfl_sync(all_lanes, bound, static_cast<int>(query))))
      hit |= 1u << query;
  }
  if (hit == 0) return;

  std::uint32_t count = 0;  // number of rows within the bound of query `lane`
#pragma unroll
  for (unsigned query = 0; query < queries; ++query) {
    if ((hit >> query & 1) == 0) continue;
    const float query_bound = __shfl_sync(all_lanes, bound, static_cast<int>(query));
    std::uint32_t within = 0;
#pragma unroll
    for (unsigned panel = 0; panel < panels; ++panel)
      within += static_cast<std::uint32_t>(
          __popc(__ballot_sync(all_lanes, is_within(panel, query, query_bound))));
    if (lane == query) count = within;
  }
  std::uint32_t begin = 0;
  if (count > 0) begin = atomicAdd(scan.lists.counts + first_query + lane, count);
  __syncwarp();

#pragma unroll
  for (unsigned query = 0; query < queries; ++query) {
    if ((hit >> query & 1) == 0) continue;
    const float query_bound = __shfl_sync(all_lanes, bound, static_cast<int>(query));
    std::uint32_t at = __shfl_sync(all_lanes, begin, static_cast<int>(query));
    std::uint64_t* keys = scan.lists.keys + std::size_t{first_query + query} * scan.lists.room;
    std::uint32_t* slots =
        scan.lists.slots + std::size_t{first_query + query} * scan.lists.slot_count;
#pragma unroll
    for (unsigned panel = 0; panel < panels; ++panel) {
      const bool is_in = is_within(panel, query, query_bound);
      const unsigned lanes = __ballot_sync(all_lanes, is_in);
      if (lanes == 0) continue;
      const std::uint32_t ordered = ordered_of(scores[panel][query]);
      const std::uint32_t mask = scan.lists.slot_count - 1;
      if (is_in)
        keys[at + static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)))] =
            key_of_ordered(ordered, scan.first_row + rows[panel]);
      at += static_cast<std::uint32_t>(__popc(lanes));
      if (is_in) atomicMin(slots + (rows[panel] & mask), ordered);
    }
  }
}

}  // namespace starling::gpu
