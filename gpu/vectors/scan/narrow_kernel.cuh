// SPDX-License-Identifier: Apache-2.0
// The kernels of the filter that run after the product. One runs after each phase: it lowers the
// bounds and drops the candidates beyond them. The other runs after the last phase: it scores the
// remaining candidates by the recipe. filter_launch.cu launches them.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/filter_interval.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// The threads that narrow the list of one query: a whole block. All threads call each function
/// together. any(), sum(), max() and kept() return the same result to all of them.
template <unsigned count>
struct BlockTeam {
  static constexpr unsigned threads = count;

  struct Shared {
    std::uint32_t values[3];
    std::uint32_t kept;
  };
  Shared& shared;
  unsigned turn = 0;

  __device__ explicit BlockTeam(Shared& all) : shared(all) {
    if (threadIdx.x < 3) shared.values[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared.kept = 0;
    __syncthreads();
  }
  __device__ unsigned rank() const { return threadIdx.x; }
  __device__ bool any(bool value) const { return __syncthreads_or(static_cast<int>(value)) != 0; }
  __device__ std::uint32_t sum(std::uint32_t value) {
    value = __reduce_add_sync(all_lanes, value);
    if (threadIdx.x % warp_lanes == 0) atomicAdd(shared.values + turn, value);
    return next();
  }
  __device__ std::uint32_t max(std::uint32_t value) {
    value = __reduce_max_sync(all_lanes, value);
    if (threadIdx.x % warp_lanes == 0) atomicMax(shared.values + turn, value);
    return next();
  }
  /// Numbers the threads whose `is_kept` is true: 0, 1, 2, ... Later calls continue the numbers.
  __device__ std::uint32_t number(bool is_kept) {
    return is_kept ? atomicAdd(&shared.kept, 1u) : 0;
  }
  __device__ void sync() const { __syncthreads(); }
  __device__ std::uint32_t kept() const {
    __syncthreads();
    return shared.kept;
  }

 private:
  __device__ std::uint32_t next() {
    // All threads read this value before the previous barrier.
    if (threadIdx.x == 0) shared.values[(turn + 1) % 3] = 0;
    __syncthreads();
    const std::uint32_t value = shared.values[turn];
    turn = (turn + 1) % 3;
    return value;
  }
};

/// Does the same as BlockTeam with the threads of one warp.
struct WarpTeam {
  static constexpr unsigned threads = warp_lanes;
  struct Shared {};
  std::uint32_t kept_so_far = 0;

  __device__ explicit WarpTeam(Shared&) {}
  __device__ unsigned rank() const { return threadIdx.x % warp_lanes; }
  __device__ bool any(bool value) const { return any_in_warp(value); }
  __device__ std::uint32_t sum(std::uint32_t value) { return __reduce_add_sync(all_lanes, value); }
  __device__ std::uint32_t max(std::uint32_t value) { return max_in_warp(value); }
  __device__ std::uint32_t number(bool is_kept) {
    const unsigned lanes = __ballot_sync(all_lanes, is_kept);
    const std::uint32_t at =
        kept_so_far + static_cast<std::uint32_t>(__popc(lanes & ((1u << rank()) - 1)));
    kept_so_far += static_cast<std::uint32_t>(__popc(lanes));
    return at;
  }
  __device__ void sync() const { __syncwarp(); }
  __device__ std::uint32_t kept() const { return kept_so_far; }
};

/// Lowers the bound of each query and drops the candidates that are certainly beyond it. Grid: a
/// team for each query. The new bound is the k-th least score_above() of the candidates, or a
/// little more. Each thread holds up to `held_each` scores in registers. If there are more, all
/// scores are read again for each count. The first phase does not write `counts`; after it
/// `appended` is the length of every list. After other phases `appended` is 0. Writes keys, counts
/// and the queries' reach. Sets `undecided` if more than kept_max candidates remain.
template <bool is_dot, class Team, unsigned held_each, unsigned block_size>
__global__ void __launch_bounds__(block_size)
    vector_narrow_kernel(const FilterScan scan, std::uint32_t appended) {
  constexpr std::uint32_t slack_share = 32;  // a bound may admit k + k / 32 candidates
  constexpr unsigned threads = Team::threads;
  __shared__ typename Team::Shared shared;
  const std::uint32_t query = (blockIdx.x * block_size + threadIdx.x) / threads;
  if (query >= scan.query_count) return;
  Team team(shared);
  // Other teams may set `undecided` right now, but all threads of a team must see one value.
  if (team.any(scan.undecided[query / filter_queries] != 0)) return;
  const std::uint32_t count = appended > 0 ? appended : scan.counts[query];
  std::uint64_t* keys = scan.keys + query * scan.room;
  const auto score_at = [&](std::uint32_t i) { return static_cast<std::uint32_t>(keys[i] >> 32); };
  const bool is_held = count <= held_each * threads;
  std::uint32_t held[held_each];
#pragma unroll
  for (unsigned i = 0; i < held_each; ++i) {
    const std::uint32_t at = i * threads + team.rank();
    held[i] = is_held && at < count ? score_at(at) : ~std::uint32_t{0};
  }
  const auto for_each = [&](const auto& take) {
    if (is_held) {
#pragma unroll
      for (unsigned i = 0; i < held_each; ++i) take(held[i]);
    } else {
#pragma unroll 4
      for (std::uint32_t i = team.rank(); i < count; i += threads) take(score_at(i));
    }
  };
  std::uint32_t low = ~std::uint32_t{0};
  std::uint32_t high = 0;
  std::uint32_t finite = 0;
  for_each([&](std::uint32_t value) {
    low = min(low, value);
    high = value < ordered_infinity ? max(high, value) : high;
    finite += value < ordered_infinity ? 1 : 0;
  });
  low = ~team.max(~low);
  high = team.max(high);
  std::uint32_t within = team.sum(finite);
  if (low > 0) --low;
  float bound = CUDART_INF_F;
  if (within >= scan.k) {
    while (within > scan.k + scan.k / slack_share && high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      std::uint32_t found = 0;
      for_each([&](std::uint32_t value) { found += value <= middle ? 1 : 0; });
      found = team.sum(found);
      if (found >= scan.k) {
        high = middle;
        within = found;
      } else {
        low = middle;
      }
    }
    bound = score_of_ordered(high);
  }

  ShadowQuery shadow = scan.queries[query];
  shadow.reach = fminf(shadow.reach, reach_of<is_dot>(scan.limits, shadow.error, bound));
  const float beyond = largest_score_above<is_dot>(scan.limits, shadow, *scan.corpus.frame);
  const std::uint32_t last = min(ordered_of(beyond), ordered_infinity);
  constexpr unsigned in_flight = 4;
  for (std::uint32_t begin = 0; begin < count; begin += in_flight * threads) {
    std::uint64_t read[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t at = begin + i * threads + team.rank();
      read[i] = at < count ? keys[at] : ~std::uint64_t{0};
    }
    team.sync();  // the writes below overwrite only keys that were read
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const bool is_kept = static_cast<std::uint32_t>(read[i] >> 32) <= last;
      const std::uint32_t at = team.number(is_kept);
      if (is_kept) keys[at] = read[i];
    }
  }
  const std::uint32_t kept = team.kept();
  if (team.rank() > 0) return;
  scan.counts[query] = kept;
  scan.queries[query].reach = shadow.reach;
  if (kept > scan.kept_max) scan.undecided[query / filter_queries] = 1;
}

/// Replaces the score in each candidate's key by the recipe's score. Grid: one block for each
/// query; its threads take the candidates in turn. Lists of queries in undecided tiles become
/// empty. Shared bytes: 16 for each group of a query.
template <bool is_dot, unsigned threads>
__global__ void __launch_bounds__(threads) vector_rescore_kernel(const FilterScan scan) {
  extern __shared__ float4 query_groups[];
  const std::uint32_t query = blockIdx.x;
  if (scan.undecided[query / filter_queries] != 0) {
    if (threadIdx.x == 0) scan.counts[query] = 0;
    return;
  }
  const std::uint32_t group_count = scan.rows.group_count;
  const std::uint32_t width = scan.rows.width;
  auto* components = reinterpret_cast<float*>(query_groups);
  for (std::uint32_t j = threadIdx.x; j < group_count * 4; j += threads)
    components[j] =
        j < scan.dimension ? scan.components[std::size_t{query} * scan.dimension + j] : 0.0f;
  __syncthreads();
  constexpr Recipe recipe = is_dot ? Recipe::product : Recipe::squared_differences;
  const std::uint32_t count = scan.counts[query];
  std::uint64_t* keys = scan.keys + query * scan.room;
  for (std::uint32_t i = threadIdx.x; i < count; i += threads) {
    const auto number = static_cast<std::uint32_t>(keys[i]);
    const std::uint32_t row = number - scan.first_row;
    const float4* groups =
        scan.rows.groups + std::size_t{row / width} * group_count * width + row % width;
    float sum = 0;
#pragma unroll 8
    for (std::uint32_t group = 0; group < group_count; ++group)
      sum = add_group<recipe>(query_groups[group], __ldg(groups + std::size_t{group} * width), sum);
    keys[i] = key_of(score_of<recipe>(sum), number);
  }
}

}  // namespace starling::gpu
