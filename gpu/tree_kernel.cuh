// Bounds, keys, leaves and boxes of the tree.
#pragma once

#include "gpu/grid.cuh"
#include "gpu/morton.cuh"
#include "gpu/objects_launch.hpp"
#include "gpu/tree_view.hpp"

namespace starling::gpu {

inline constexpr unsigned bounds_blocks_max = 1024;

// Threads go through the slots in strides of the grid; a warp reduces, its first lane adds to
// `bounds`, which holds the empty bounds before.
template <int dimensions>
__global__ void bounds_kernel(const LatticePoint* positions, std::uint32_t slots, Bounds* bounds) {
  std::int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
  std::int32_t high[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
  for (std::uint64_t slot = thread_index(); slot < slots;
       slot += std::uint64_t{gridDim.x} * blockDim.x) {
    const LatticePoint point = positions[slot];
    if (point.x == nowhere) continue;
    const std::int32_t coordinates[3] = {point.x, point.y, point.z};
    for (int d = 0; d < dimensions; ++d) {
      low[d] = min(low[d], coordinates[d]);
      high[d] = max(high[d], coordinates[d]);
    }
  }
  for (int d = 0; d < dimensions; ++d) {
    low[d] = __reduce_min_sync(~0u, low[d]);
    high[d] = __reduce_max_sync(~0u, high[d]);
    if (threadIdx.x % 32 == 0 && low[d] <= high[d]) {
      atomicMin(&bounds->min[d], low[d]);
      atomicMax(&bounds->max[d], high[d]);
    }
  }
}

// A thread a slot.
template <int dimensions>
__global__ void keys_kernel(const LatticePoint* positions, std::uint32_t slots,
                            const Bounds* bounds, typename TreeTypes<dimensions>::Key* keys,
                            Slot* values) {
  const std::uint64_t slot = thread_index();
  if (slot >= slots) return;
  const LatticePoint point = positions[slot];
  using Key = typename TreeTypes<dimensions>::Key;
  keys[slot] = point.x == nowhere ? key_of_nobody<Key>() : key_of<dimensions>(point, *bounds);
  values[slot] = static_cast<Slot>(slot);
}

template <int dimensions>
__device__ typename TreeTypes<dimensions>::Point to_point(const LatticePoint& point) {
  if constexpr (dimensions == 2)
    return {point.x, point.y};
  else
    return {point.x, point.y, point.z, 0};
}

// A thread a place, eight neighbouring lanes a leaf; the first of them writes its box and key. Of
// the last leaf's lanes those past `count` stand in for its first object.
template <int dimensions>
__global__ void leaves_kernel(const LatticePoint* positions,
                              const typename TreeTypes<dimensions>::Key* sorted_keys,
                              const Slot* sorted_slots, std::uint32_t count,
                              typename TreeTypes<dimensions>::Point* points, Slot* slots,
                              typename TreeTypes<dimensions>::Key* leaf_keys,
                              typename TreeTypes<dimensions>::Box* boxes) {
  const std::uint64_t place = thread_index();
  const std::uint64_t leaf = place / fan_out;
  const bool has_leaf = leaf * fan_out < count;  // the same for all lanes of a leaf
  const unsigned lanes = __ballot_sync(~0u, has_leaf);
  if (!has_leaf) return;
  const std::uint64_t source = place < count ? place : leaf * fan_out;
  const Slot slot = sorted_slots[source];
  const LatticePoint point = positions[slot];
  points[place] = to_point<dimensions>(point);  // a leaf is readable as a whole
  if (place < count) slots[place] = slot;
  const std::int32_t coordinates[3] = {point.x, point.y, point.z};
  typename TreeTypes<dimensions>::Box box;
  for (int d = 0; d < dimensions; ++d) {
    std::int32_t low = coordinates[d];
    std::int32_t high = coordinates[d];
    for (unsigned step = 1; step < fan_out; step *= 2) {
      low = min(low, __shfl_xor_sync(lanes, low, step));
      high = max(high, __shfl_xor_sync(lanes, high, step));
    }
    box.min[d] = low;
    box.max[d] = high;
  }
  if (place % fan_out != 0) return;
  boxes[leaf] = box;
  leaf_keys[leaf] = sorted_keys[place];
}

template <int dimensions>
__device__ typename TreeTypes<dimensions>::Box box_around(
    const typename TreeTypes<dimensions>::Box* children, std::uint32_t first, std::uint32_t count) {
  typename TreeTypes<dimensions>::Box box = children[first];
  for (std::uint32_t i = first + 1; i < min(first + fan_out, count); ++i) {
    const auto child = children[i];
    for (int d = 0; d < dimensions; ++d) {
      box.min[d] = min(box.min[d], child.min[d]);
      box.max[d] = max(box.max[d], child.max[d]);
    }
  }
  return box;
}

// A thread a node of `level`, from the boxes of the level below.
template <int dimensions>
__global__ void boxes_kernel(TreeView<dimensions> tree, typename TreeTypes<dimensions>::Box* boxes,
                             int level) {
  const std::uint64_t node = thread_index();
  if (node >= tree.nodes[level]) return;
  boxes[tree.firsts[level] + node] =
      box_around<dimensions>(boxes + tree.firsts[level - 1],
                             static_cast<std::uint32_t>(node) * fan_out, tree.nodes[level - 1]);
}

// One block: all levels from `level` on.
template <int dimensions>
__global__ void upper_boxes_kernel(TreeView<dimensions> tree,
                                   typename TreeTypes<dimensions>::Box* boxes, int level) {
  for (; level < tree.levels; ++level) {
    for (std::uint32_t node = threadIdx.x; node < tree.nodes[level]; node += blockDim.x)
      boxes[tree.firsts[level] + node] = box_around<dimensions>(
          boxes + tree.firsts[level - 1], node * fan_out, tree.nodes[level - 1]);
    __syncthreads();
  }
}

}  // namespace starling::gpu
