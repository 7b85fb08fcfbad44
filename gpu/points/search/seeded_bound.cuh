// SPDX-License-Identifier: Apache-2.0
// Computes the seeded bound of a search, from the neighbours that it found in the last tick. The
// tree's search and the flat search start from this bound.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/points/search/distance.cuh"
#include "starling/gpu/points/search/search_common.cuh"

namespace starling::gpu {

/// Returns an upper bound on the squared distance of the k-th neighbour: the greatest squared
/// distance from `position` to the objects that are now in the slots of last tick's k neighbours.
/// Any k objects that the search accepts give an upper bound. The objects in these slots therefore
/// need not be the nearest any more, and may be new owners of the slots. Returns the filter's
/// limit, key_max, if last tick's list has fewer than k neighbours, or if the search does not
/// accept all these objects now. The bound is never greater than key_max. All lanes of the warp
/// must call; the result is valid on all lanes of the search's group.
template <unsigned lanes>
__device__ __forceinline__ std::uint64_t seeded_bound(const SearchBatch& batch,
                                                      std::uint32_t number, const SearchSpec& spec,
                                                      const Acceptance& acceptance,
                                                      const ObjectsView& objects,
                                                      const LatticePoint& position) {
  const LaneGroup<lanes> group;
  bool is_seeded = batch.last_counts != nullptr && batch.last_counts[number] == spec.k;
  std::uint64_t farthest_sq = 0;
  if (is_seeded) {
    const Slot* slots = batch.last_slots + batch.rooms[number];
    for (std::uint32_t i = group.lane; i < spec.k; i += lanes) {
      const Slot slot = slots[i];
      const LatticePoint at = objects.positions[slot];
      is_seeded = is_seeded && at.x != nowhere && acceptance.accepts_slot(slot, objects);
      farthest_sq = max(farthest_sq, distance_sq(position, at));
    }
  }
  farthest_sq = group.max(farthest_sq);
  const std::uint64_t unseeded = to_number(spec.filter.key_max);
  return group.any(!is_seeded) ? unseeded : min(farthest_sq, unseeded);
}

}  // namespace starling::gpu
