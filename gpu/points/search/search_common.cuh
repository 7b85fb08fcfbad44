// What the searches of every index are made of: where one is, whom it accepts, the total order.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/search/distance.cuh"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// A place that nobody has, behind every object at its distance: an empty entry of a list.
inline constexpr std::uint32_t place_none = ~std::uint32_t{0};

/// Whom a search accepts beside the distance.
struct Acceptance {
  Slot exclude;
  TagFilter tags;
  std::int64_t time_us_min;
  bool reads_objects;

  __device__ Acceptance(const SearchSpec& spec, std::int64_t tau_us)
      : exclude(spec.anchor),
        tags(spec.filter.tags),
        time_us_min(oldest_time_us(tau_us, spec.filter.age_us_max)),
        reads_objects(!tags.is_empty() || spec.filter.age_us_max != Filter::any_age) {}

  /// `slots` is by place.
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

/// The id of the object at a place, by which ties are broken.
struct IdOfPlace {
  const Slot* slots;  ///< by place; null: a place is a slot
  const ObjectId* ids;
  __device__ ObjectId operator()(std::uint32_t place) const {
    return ids[slots == nullptr ? place : slots[place]];
  }
};

/// Where a search is, or false, with nothing written: it follows an object that is not there.
__device__ inline bool find_position(const SearchSpec& spec, const ObjectsView& objects,
                                     LatticePoint& position) {
  if (spec.anchor != no_slot && spec.anchor >= objects.slots) return false;
  const LatticePoint at = spec.anchor == no_slot ? spec.position : objects.positions[spec.anchor];
  if (at.x == nowhere) return false;
  position = at;
  return true;
}

// A thread an entry. `Index` is a view; search_key() gives a position's place in it.
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
