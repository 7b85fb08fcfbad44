// SPDX-License-Identifier: Apache-2.0
// Functions that all search kernels call. They find a search's position, decide which objects it
// accepts, and give the ids that break ties.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/search/distance.cuh"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// The place of an empty entry of a list. An empty entry comes after every object at the same
/// distance.
inline constexpr std::uint32_t place_none = ~std::uint32_t{0};

/// Decides which objects a search accepts, apart from their distance.
struct Acceptance {
  Slot exclude;  ///< the followed object or the subject; no_slot: none
  TagFilter tags;
  std::int64_t time_us_min;
  bool reads_objects;        ///< true if objects must be tested for tags or age
  std::uint32_t least_rank;  ///< the least attached rank that passes; along() sets it

  Acceptance() = default;
  /// Accepts objects that pass the search's filter, except its anchor.
  __device__ Acceptance(const SearchSpec& spec, std::int64_t tau_us)
      : exclude(spec.anchor),
        tags(spec.filter.tags),
        time_us_min(oldest_time_us(tau_us, spec.filter.age_us_max)),
        reads_objects(!tags.is_empty() || spec.filter.age_us_max != Filter::any_age),
        least_rank(0) {}

  /// Returns an acceptance for the objects of the route's layer only. If all objects of the layer
  /// pass the filter, the returned acceptance does not test objects.
  __device__ Acceptance along(const FilterRoute& route) const {
    Acceptance among = *this;
    if (!route.has_tests) among.reads_objects = false;
    among.least_rank = route.least_rank;
    return among;
  }

  /// Returns true if the object at `place` is accepted. `slots` and `attached` are indexed by
  /// place.
  __device__ bool accepts(std::uint32_t place, const Slot* slots, const AttachedView& attached,
                          const ObjectsView& objects) const {
    return (!reads_objects || passes(place, slots, attached, objects)) &&
           accepts_but_filter(place, slots);
  }
  __device__ bool accepts_slot(Slot slot, const ObjectsView& objects) const {
    return slot != exclude && (!reads_objects || slot_passes(slot, objects));
  }

  /// Returns true if the object at `place` is not the excluded one.
  __device__ bool accepts_but_filter(std::uint32_t place, const Slot* slots) const {
    return exclude == no_slot || slots[place] != exclude;
  }
  /// Returns true if the object at `place` passes the filter's tags and age.
  __device__ bool passes(std::uint32_t place, const Slot* slots, const AttachedView& attached,
                         const ObjectsView& objects) const {
    if (attached.tags_and_ranks == nullptr) return slot_passes(slots[place], objects);
    const uint2 of_object = attached.tags_and_ranks[place];
    return tags.passes(of_object.x) && of_object.y >= least_rank;
  }

 private:
  __device__ bool slot_passes(Slot slot, const ObjectsView& objects) const {
    return tags.passes(objects.tags[slot]) && objects.times_us[slot] >= time_us_min;
  }
};

/// Returns the id of the object at a place. Ids break ties.
struct IdOfPlace {
  const Slot* slots;  ///< [place]; null: a place is a slot
  const ObjectId* ids;
  __device__ ObjectId operator()(std::uint32_t place) const {
    return ids[slots == nullptr ? place : slots[place]];
  }
};

/// Returns where a search looks. `count` is the number of objects of layer 0.
__device__ inline FilterRoute route_of(const SearchSpec& spec, const SearchBatch& batch,
                                       std::uint32_t count) {
  if (batch.routes == nullptr) return {.count = count, .has_tests = true};
  return batch.routes[spec.filter_number];
}

/// Sets `position` to the position of a search. Returns false and sets nothing if the search
/// follows an object that is not alive.
__device__ inline bool find_position(const SearchSpec& spec, const ObjectsView& objects,
                                     LatticePoint& position) {
  if (spec.anchor != no_slot && spec.anchor >= objects.slots) return false;
  const LatticePoint at = spec.anchor == no_slot ? spec.position : objects.positions[spec.anchor];
  if (at.x == nowhere) return false;
  position = at;
  return true;
}

// One thread for each of the searches.count entries. Thread i writes the spatial sort key of search
// numbers[i] to keys[i] and numbers[i] to values[i]. A search without a position has key 0. `Index`
// is the view of an index: search_key() gives a position's key in that index.
template <class Index, class Key>
__global__ void search_keys_kernel(const __grid_constant__ Index index,
                                   const __grid_constant__ ObjectsView objects,
                                   const __grid_constant__ SearchKeys<Key> searches) {
  const std::uint64_t i = thread_index();
  if (i >= searches.count) return;
  const std::uint32_t number = searches.numbers[i];
  LatticePoint position;
  const bool is_somewhere = find_position(searches.specs[number], objects, position);
  searches.keys[i] = is_somewhere && index.count > 0 ? search_key(index, position) : 0;
  searches.values[i] = number;
}

}  // namespace starling::gpu
