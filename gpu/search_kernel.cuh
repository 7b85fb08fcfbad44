// What a search is made of: whom a search accepts, the total order, and where it starts.
#pragma once

#include "gpu/distance.cuh"
#include "gpu/hilbert.cuh"
#include "gpu/search_launch.hpp"

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

/// The last leaf that begins at or before the key; the first leaf if none does.
template <int dimensions>
__device__ std::uint32_t find_leaf(const TreeView<dimensions>& tree,
                                   typename TreeTypes<dimensions>::Key key) {
  std::uint32_t low = 0;
  std::uint32_t high = tree.nodes[0];
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (tree.leaf_keys[middle] <= key ? low : high) = middle;
  }
  return low;
}

// A thread an entry.
template <int dimensions>
__global__ void search_keys_kernel(TreeView<dimensions> tree, ObjectsView objects,
                                   const SearchSpec* specs, const std::uint32_t* numbers,
                                   std::uint32_t count, typename TreeTypes<dimensions>::Key* keys,
                                   std::uint32_t* values) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  LatticePoint position;
  const bool is_somewhere = find_position(specs[numbers[i]], objects, position);
  keys[i] = is_somewhere && tree.count > 0
                ? key_of<dimensions>(position, *tree.bounds, tree.axis_bits)
                : 0;
  values[i] = numbers[i];
}

}  // namespace starling::gpu
