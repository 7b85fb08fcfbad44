// SPDX-License-Identifier: Apache-2.0
// What all searches have in common: the position of a search, the objects that it accepts, and the
// ids that break ties.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/search/distance.cuh"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// The place of an empty entry of a list. An empty entry comes after every object at the same
/// distance.
inline constexpr std::uint32_t place_none = ~std::uint32_t{0};

/// Which objects a search accepts, apart from their distance.
struct Acceptance {
  Slot exclude;  ///< the followed object or the subject; no_slot: none
  TagFilter tags;
  std::int64_t time_us_min;
  bool reads_objects;  ///< whether the filter limits tags or age

  __device__ Acceptance(const SearchSpec& spec, std::int64_t tau_us)
      : exclude(spec.anchor),
        tags(spec.filter.tags),
        time_us_min(oldest_time_us(tau_us, spec.filter.age_us_max)),
        reads_objects(!tags.is_empty() || spec.filter.age_us_max != Filter::any_age) {}

  /// Whether the object at `place` is accepted. `slots` is by place.
  __device__ bool accepts(std::uint32_t place, const Slot* slots,
                          const ObjectsView& objects) const {
    return (!reads_objects && exclude == no_slot) || accepts_slot(slots[place], objects);
  }

  __device__ bool accepts_slot(Slot slot, const ObjectsView& objects) const {
    if (slot == exclude) return false;
    return !reads_objects ||
           (tags.passes(objects.tags[slot]) && objects.times_us[slot] >= time_us_min);
  }
};

/// Returns the id of the object at a place. Ids break ties.
struct IdOfPlace {
  const Slot* slots;  ///< by place; if null, a place is a slot
  const ObjectId* ids;
  __device__ ObjectId operator()(std::uint32_t place) const {
    return ids[slots == nullptr ? place : slots[place]];
  }
};

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
