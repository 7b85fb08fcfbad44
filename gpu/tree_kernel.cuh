// Bounds, keys, leaves and boxes of the tree.
#pragma once

#include "gpu/hilbert.cuh"
#include "gpu/launch_grid.cuh"
#include "gpu/objects_launch.hpp"
#include "gpu/tree_view.hpp"

namespace starling::gpu {

inline constexpr unsigned bounds_blocks_max = 264;  ///< two for each multiprocessor of an H200

/// The least value of a block's threads, on thread 0; a block is at most 32 warps.
__device__ inline std::int32_t block_min(std::int32_t value) {
  __shared__ std::int32_t of_warps[32];
  value = __reduce_min_sync(~0u, value);
  __syncthreads();  // the last use of of_warps is over
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return value;
  return __reduce_min_sync(~0u, threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : INT32_MAX);
}

// Threads go through the slots in strides of the grid; thread 0 of a block adds its objects to
// `bounds`, which holds the empty bounds before.
template <int dimensions>
__global__ void bounds_kernel(const LatticePoint* positions, std::uint32_t slots, Bounds* bounds) {
  std::int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
  std::int32_t high[3] = {-INT32_MAX, -INT32_MAX, -INT32_MAX};
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
    low[d] = block_min(low[d]);
    high[d] = -block_min(-high[d]);
    if (threadIdx.x == 0 && low[d] <= high[d]) {
      atomicMin(&bounds->min[d], low[d]);
      atomicMax(&bounds->max[d], high[d]);
    }
  }
}

// A thread a slot.
template <int dimensions>
__global__ void keys_kernel(const LatticePoint* positions, std::uint32_t slots,
                            const Bounds* bounds, int axis_bits,
                            typename TreeTypes<dimensions>::Key* keys, Slot* values) {
  const std::uint64_t slot = thread_index();
  if (slot >= slots) return;
  const LatticePoint point = positions[slot];
  keys[slot] = point.x == nowhere ? key_of_nobody<dimensions>(axis_bits)
                                  : key_of<dimensions>(point, *bounds, axis_bits);
  values[slot] = static_cast<Slot>(slot);
}

template <int dimensions>
__device__ typename TreeTypes<dimensions>::Point to_point(const LatticePoint& point) {
  if constexpr (dimensions == 2)
    return {point.x, point.y};
  else
    return {point.x, point.y, point.z, 0};
}

// A lane a place; a leaf's first lane writes its box and key. Of the last leaf the lanes past
// `count` stand in for its first object.
template <int dimensions>
__global__ void leaves_kernel(const LatticePoint* positions,
                              const typename TreeTypes<dimensions>::Key* sorted_keys,
                              const Slot* sorted_slots, std::uint32_t count,
                              typename TreeTypes<dimensions>::Point* points, Slot* slots,
                              typename TreeTypes<dimensions>::Key* leaf_keys,
                              typename TreeTypes<dimensions>::Box* boxes) {
  const std::uint64_t place = thread_index();
  const std::uint64_t leaf = place / leaf_objects;
  if (leaf * leaf_objects >= count) return;
  constexpr unsigned leaf_lanes = (1u << leaf_objects) - 1;
  const unsigned lanes = leaf_lanes << (threadIdx.x % 32 / leaf_objects * leaf_objects);
  const std::uint64_t source = place < count ? place : leaf * leaf_objects;
  const Slot slot = sorted_slots[source];
  const LatticePoint point = positions[slot];
  points[place] = to_point<dimensions>(point);  // a leaf is readable as a whole
  if (place < count) slots[place] = slot;
  const std::int32_t coordinates[3] = {point.x, point.y, point.z};
  typename TreeTypes<dimensions>::Box box;
  for (int d = 0; d < dimensions; ++d) {
    box.min[d] = __reduce_min_sync(lanes, coordinates[d]);
    box.max[d] = __reduce_max_sync(lanes, coordinates[d]);
  }
  if (place % leaf_objects != 0) return;
  boxes[leaf] = box;
  leaf_keys[leaf] = sorted_keys[place];
}

/// The box around those of eight neighbouring lanes, on each of them.
template <int dimensions>
__device__ typename TreeTypes<dimensions>::Box box_of_lanes(typename TreeTypes<dimensions>::Box box,
                                                            unsigned lanes) {
  for (int d = 0; d < dimensions; ++d)
    for (unsigned step = 1; step < fan_out; step *= 2) {
      box.min[d] = min(box.min[d], __shfl_xor_sync(lanes, box.min[d], step));
      box.max[d] = max(box.max[d], __shfl_xor_sync(lanes, box.max[d], step));
    }
  return box;
}

// Eight lanes a node of `level`, one each of its children, which are of the level below. Lanes past
// the last child stand in for the first.
template <int dimensions>
__device__ void make_box(const TreeView<dimensions>& tree,
                         typename TreeTypes<dimensions>::Box* boxes, int level, std::uint64_t child,
                         unsigned lanes) {
  const std::uint64_t node = child / fan_out;
  const std::uint64_t source = child < tree.nodes[level - 1] ? child : node * fan_out;
  const auto box = box_of_lanes<dimensions>(boxes[tree.firsts[level - 1] + source], lanes);
  if (child % fan_out == 0) boxes[tree.firsts[level] + node] = box;
}

// A thread a child.
template <int dimensions>
__global__ void boxes_kernel(const __grid_constant__ TreeView<dimensions> tree,
                             typename TreeTypes<dimensions>::Box* boxes, int level) {
  const std::uint64_t child = thread_index();
  const bool has_node = child / fan_out < tree.nodes[level];
  const unsigned lanes = __ballot_sync(~0u, has_node);
  if (has_node) make_box<dimensions>(tree, boxes, level, child, lanes);
}

// One block: all levels from `level` on.
template <int dimensions>
__global__ void upper_boxes_kernel(const __grid_constant__ TreeView<dimensions> tree,
                                   typename TreeTypes<dimensions>::Box* boxes, int level) {
  for (; level < tree.levels; ++level) {
    const std::uint32_t children = tree.nodes[level] * fan_out;
    for (std::uint32_t begin = 0; begin < children; begin += blockDim.x) {
      const std::uint32_t child = begin + threadIdx.x;
      const unsigned lanes = __ballot_sync(~0u, child < children);
      if (child < children) make_box<dimensions>(tree, boxes, level, child, lanes);
    }
    __syncthreads();
  }
}

}  // namespace starling::gpu
