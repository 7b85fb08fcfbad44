// SPDX-License-Identifier: Apache-2.0
// Searches all slots without an index, if there are too few objects for an index to save time. A
// block serves a search, and each warp of the block reads a share of the slots. Launched by
// flat_search_launch.cu.
#pragma once

#include "starling/gpu/points/search/nearest_in_shared.cuh"
#include "starling/gpu/points/search/search_common.cuh"
#include "starling/gpu/points/search/seeded_bound.cuh"

namespace starling::gpu {

inline constexpr unsigned flat_warps_max = 16;

using FlatNearest = NearestInShared<warp_lanes, warp_lanes>;

/// Offers the objects in the warp's share of the slots. All lanes of the warp must call.
__device__ __forceinline__ void offer_slots(const ObjectsView& objects,
                                            const Acceptance& acceptance,
                                            const LatticePoint& position, FlatNearest& nearest) {
  constexpr unsigned ahead = 4;  // loads in flight
  const LaneGroup<warp_lanes> lanes;
  const std::uint32_t first = threadIdx.x - lanes.lane;
  for (std::uint32_t begin = first; begin < objects.slots; begin += ahead * blockDim.x) {
    LatticePoint points[ahead];
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const std::uint32_t slot = begin + i * blockDim.x + lanes.lane;
      points[i] = slot < objects.slots ? objects.positions[slot] : LatticePoint{nowhere, 0, 0};
    }
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const std::uint32_t slot = begin + i * blockDim.x + lanes.lane;
      const bool is_there = points[i].x != nowhere;
      const std::uint64_t apart_sq = is_there ? distance_sq(position, points[i]) : 0;
      const bool is_offered =
          is_there && apart_sq <= nearest.bound() && acceptance.accepts_slot(slot, objects);
      if (!any_in_warp(is_offered)) continue;
      nearest.offer(is_offered, apart_sq, slot);
      nearest.tighten(false);
    }
  }
}

// One block for each search of the batch. Each warp collects the nearest objects in its share of
// the slots. Then the first warp takes over what the other warps collected, and writes the list:
// counts[number], and from rooms[number] on neighbors and slots. The slot of an object is also its
// place. Dynamic shared memory: FlatNearest::bytes(entries) for each warp.
__global__ void __launch_bounds__(flat_warps_max* warp_lanes)
    flat_search_kernel(const __grid_constant__ ObjectsView objects,
                       const __grid_constant__ SearchBatch batch, std::uint32_t entries) {
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ std::uint32_t sizes[flat_warps_max];
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
  const unsigned warp = threadIdx.x / warp_lanes;
  FlatNearest nearest = nearest_of(warp);
  offer_slots(objects, acceptance, position, nearest);
  nearest.settle();
  sizes[warp] = nearest.size();
  __syncthreads();
  if (warp != 0) return;
  for (unsigned other = 1; other < blockDim.x / warp_lanes; ++other)
    nearest.take(nearest_of(other), sizes[other]);
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
