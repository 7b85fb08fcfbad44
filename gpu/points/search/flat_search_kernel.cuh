// SPDX-License-Identifier: Apache-2.0
// Searches all slots without an index, if there are too few objects for an index to save time. One
// block serves each search, and each warp of the block reads a share of the slots. Launched by
// flat_search_launch.cu.
#pragma once

#include "starling/gpu/points/search/nearest_in_shared.cuh"
#include "starling/gpu/points/search/search_common.cuh"
#include "starling/gpu/points/search/seeded_bound.cuh"

namespace starling::gpu {

inline constexpr unsigned flat_warps_max = 16;

using FlatNearest = NearestInShared<warp_lanes, warp_lanes>;

/// The positions of four consecutive slots. Slots that do not exist get `nowhere`.
struct FourPoints {
  LatticePoint at[4];

  /// Reads slots `first` to `first` + 3, usually with three loads of 16 bytes. `first` must be a
  /// multiple of four.
  __device__ FourPoints(const ObjectsView& objects, std::uint32_t first) {
    static_assert(sizeof(at) == 3 * sizeof(int4));
    if (first + 4 <= objects.slots) {
      const int4* from = reinterpret_cast<const int4*>(objects.positions + first);
      const int4 words[3] = {from[0], from[1], from[2]};
      memcpy(at, words, sizeof(at));
      return;
    }
    for (std::uint32_t i = 0; i < 4; ++i)
      at[i] =
          first + i < objects.slots ? objects.positions[first + i] : LatticePoint{nowhere, 0, 0};
  }
};

/// The positions that a thread reads in one round: `near` has four consecutive slots, and `far` has
/// the four slots that come 4 * blockDim.x slots later.
struct FlatRound {
  std::uint32_t first;
  FourPoints near;
  FourPoints far;

  static constexpr std::uint32_t slots_a_thread = 8;

  __device__ FlatRound(const ObjectsView& objects, std::uint32_t begin)
      : first(begin + 4 * threadIdx.x),
        near(objects, first),
        far(objects, first + 4 * blockDim.x) {}

  __device__ const LatticePoint& point(unsigned i) const {
    return i < 4 ? near.at[i] : far.at[i - 4];
  }
  __device__ Slot slot(unsigned i) const {
    return i < 4 ? first + i : first + 4 * blockDim.x + i - 4;
  }
};

/// Offers the objects in the warp's share of the slots to `nearest`. `round` is the first round.
/// Loads the next round while it offers the current one. All lanes of the warp must call.
__device__ __forceinline__ void offer_slots(const ObjectsView& objects,
                                            const Acceptance& acceptance,
                                            const LatticePoint& position, FlatRound round,
                                            FlatNearest& nearest) {
  const std::uint32_t step = FlatRound::slots_a_thread * blockDim.x;
  for (std::uint32_t begin = 0; begin < objects.slots; begin += step) {
    const FlatRound next(objects, begin + step);
#pragma unroll
    for (unsigned i = 0; i < FlatRound::slots_a_thread; ++i) {
      const LatticePoint& point = round.point(i);
      const bool is_there = point.x != nowhere;
      const std::uint64_t apart_sq = is_there ? distance_sq(position, point) : 0;
      const bool is_offered = is_there && apart_sq <= nearest.bound() &&
                              acceptance.accepts_slot(round.slot(i), objects);
      if (!any_in_warp(is_offered)) continue;
      nearest.offer(is_offered, apart_sq, round.slot(i));
      nearest.tighten(false);
    }
    round = next;
  }
}

// One block for each search of the batch. Each warp collects the nearest objects in its share of
// the slots. Then the first warp takes over what all warps collected, and writes the list: its
// length to counts[number], and its entries to neighbors and slots, from index rooms[number] on.
// Without an index, an object's place is its slot. Dynamic shared memory:
// FlatNearest::bytes(entries) for each warp.
__global__ void __launch_bounds__(flat_warps_max* warp_lanes, 1)
    flat_search_kernel(const __grid_constant__ ObjectsView objects,
                       const __grid_constant__ SearchBatch batch, std::uint32_t entries) {
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ std::uint32_t sizes[flat_warps_max];
  const FlatRound first_round(objects, 0);  // loads while the next lines prepare the search
  const std::uint32_t number = batch.order[blockIdx.x];
  const SearchSpec spec = batch.specs[number];
  LatticePoint position{};
  if (!find_position(spec, objects, position)) {
    if (threadIdx.x == 0) batch.counts[number] = 0;
    return;
  }
  const Acceptance acceptance(spec, batch.tau_us);
  const std::uint64_t bound =
      seeded_bound<warp_lanes>(batch, number, spec, acceptance, objects, position);
  const auto nearest_of = [&](unsigned warp) {
    return FlatNearest(memory + warp * FlatNearest::bytes(entries), entries, spec.k, bound,
                       bound < to_number(spec.filter.key_max), IdOfPlace{nullptr, objects.ids});
  };
  const unsigned warps = blockDim.x / warp_lanes;
  const unsigned warp = threadIdx.x / warp_lanes;
  FlatNearest nearest = nearest_of(warp);
  offer_slots(objects, acceptance, position, first_round, nearest);
  nearest.settle();
  sizes[warp] = nearest.size();
  __syncthreads();
  std::uint32_t before = 0;  // number of candidates of the warps with lower numbers
  std::uint32_t total = 0;
  for (unsigned other = 0; other < warps; ++other) {
    if (other < warp) before += sizes[other];
    total += sizes[other];
  }
  const bool fits = total <= entries;
  if (fits && warp != 0) nearest.copy_to(nearest_of(0), before);
  __syncthreads();
  if (warp != 0) return;
  if (fits)
    nearest.adopt(total, bound);
  else
    for (unsigned other = 1; other < warps; ++other) nearest.take(nearest_of(other), sizes[other]);
  const std::uint64_t room = batch.rooms[number];
  const std::uint32_t count =
      nearest.for_each([&](std::uint32_t rank, std::uint64_t apart_sq, std::uint32_t slot) {
        batch.neighbors[room + rank] = {RankKey{apart_sq}, objects.ids[slot]};
        batch.slots[room + rank] = slot;
      });
  if (threadIdx.x != 0) return;
  batch.counts[number] = count;
  batch.leaves[number] = 0;  // unknown without an index
}

}  // namespace starling::gpu
