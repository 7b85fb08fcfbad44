// SPDX-License-Identifier: Apache-2.0
// Kernels that build the tree of all objects and the tree of layers: sort keys, leaves and boxes.
// Launched by tree_launch.cu.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/index/tree_key.cuh"
#include "starling/gpu/points/index/tree_view.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

// One thread for each slot: writes keys[slots] and values[slots]. Keys are relative to the objects'
// bounds. The tree keeps a copy of the bounds in `tree_bounds`.
__global__ void keys_kernel(const __grid_constant__ ObjectsView objects, Bounds* tree_bounds,
                            TreeKey* keys, Slot* values) {
  const std::uint64_t slot = thread_index();
  if (slot >= objects.slots) return;
  const Bounds bounds = *objects.bounds;
  if (slot == 0) *tree_bounds = bounds;
  const LatticePoint point = objects.positions[slot];
  keys[slot] = point.x == nowhere ? key_of_nobody : key_of(point, bounds);
  values[slot] = static_cast<Slot>(slot);
}

// One thread for each entry of the layers: writes keys[entries] and values[entries]. Keys are
// relative to the objects' bounds. The tree keeps a copy of the bounds in `tree_bounds`.
__global__ void layer_keys_kernel(const __grid_constant__ ObjectsView objects,
                                  const __grid_constant__ LayersView layers, Bounds* tree_bounds,
                                  TreeKey* keys, Slot* values) {
  const std::uint64_t i = thread_index();
  if (i >= layers.entry_count) return;
  const Bounds bounds = *objects.bounds;
  if (i == 0) *tree_bounds = bounds;
  const LayerEntry entry = layers.entries[i];
  keys[i] = entry.slot == no_slot
                ? last_key_in_layer(entry.layer)
                : key_in_layer(entry.layer, key_of(objects.positions[entry.slot], bounds));
  values[i] = entry.slot;
}

__device__ inline TreePoint to_point(const LatticePoint& point) {
  return {point.x, point.y, point.z, 0};
}

__device__ inline TreeBox box_at(const LatticePoint& point) {
  return {{point.x, point.y, point.z}, {point.x, point.y, point.z}};
}

__device__ inline TreeBox box_around(TreeBox a, const TreeBox& b) {
  for (int d = 0; d < 3; ++d) {
    a.min[d] = min(a.min[d], b.min[d]);
    a.max[d] = max(a.max[d], b.max[d]);
  }
  return a;
}

/// Returns the box around the boxes of a group of `count` neighbouring lanes, on each lane of the
/// group. Exactly the lanes in the mask `lanes` must call.
template <unsigned count>
__device__ TreeBox box_of_lanes(TreeBox box, unsigned lanes) {
  for (int d = 0; d < 3; ++d)
    for (unsigned step = 1; step < count; step *= 2) {
      box.min[d] = min(box.min[d], __shfl_xor_sync(lanes, box.min[d], step));
      box.max[d] = max(box.max[d], __shfl_xor_sync(lanes, box.max[d], step));
    }
  return box;
}

/// Where the kernels write a tree. The pointers are device pointers.
struct TreeMemory {
  TreePoint* points;
  Slot* slots;
  TreeKey* leaf_keys;
  TreeBox* boxes;
};

/// The threads of a block of leaves_kernel. The block makes 64 leaves, and the nodes above them on
/// two levels.
inline constexpr unsigned leaves_threads = leaf_objects * fan_out * fan_out;

/// Computes the boxes of the block's `count` nodes of `level`. Each node has eight lanes, one for
/// each child. Reads the boxes of the count * 8 children from `children`, and writes the `count`
/// boxes to `own`; both are in the block's shared memory. Also writes the boxes of nodes that exist
/// to `boxes`. A lane whose child does not exist reads the box of its node's first child instead.
/// All threads of the block must call; threads beyond the block's last child return at once.
__device__ inline void make_level(const TreeView& tree, TreeBox* boxes, int level,
                                  const TreeBox* children, TreeBox* own, unsigned count) {
  if (level >= tree.levels || threadIdx.x >= count * fan_out) return;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * count;
  const std::uint64_t child = first * fan_out + threadIdx.x;
  const unsigned source =
      child < tree.nodes[level - 1] ? threadIdx.x : threadIdx.x / fan_out * fan_out;
  constexpr unsigned lanes_max = 32;
  const unsigned lanes = ~0u >> (lanes_max - min(count * fan_out, lanes_max));
  const auto box = box_of_lanes<fan_out>(children[source], lanes);
  if (threadIdx.x % fan_out != 0) return;
  const unsigned node = threadIdx.x / fan_out;
  own[node] = box;
  if (first + node < tree.nodes[level]) boxes[tree.firsts[level] + first + node] = box;
}

// One lane for each place. A block makes 64 leaves, and the nodes above them on two levels. A lane
// has no object if its place is unused, at the end of a layer or after the last place. A lane
// without an object reads the leaf's first object instead. Reads positions by slot, and sorted_keys
// and sorted_slots by place. Static shared memory: 73 boxes, 1752 bytes.
__global__ void __launch_bounds__(leaves_threads)
    leaves_kernel(const __grid_constant__ TreeView tree, const LatticePoint* positions,
                  const TreeKey* sorted_keys, const Slot* sorted_slots,
                  const __grid_constant__ TreeMemory to) {
  __shared__ TreeBox of_leaves[fan_out * fan_out];
  __shared__ TreeBox of_nodes[fan_out];
  __shared__ TreeBox of_block[1];
  const std::uint64_t place = thread_index();
  const std::uint64_t leaf = place / leaf_objects;
  if (leaf < tree.nodes[0]) {
    const unsigned lanes = 0xffffu << (threadIdx.x % 32 / leaf_objects * leaf_objects);
    const Slot own = place < tree.count ? sorted_slots[place] : no_slot;
    const LatticePoint point = positions[own != no_slot ? own : sorted_slots[leaf * leaf_objects]];
    to.points[place] = to_point(point);  // unused places too: searches read whole leaves
    if (place < tree.count) to.slots[place] = own;
    const auto box = box_of_lanes<leaf_objects>(box_at(point), lanes);
    if (place % leaf_objects == 0) {
      of_leaves[threadIdx.x / leaf_objects] = box;
      to.boxes[leaf] = box;
      to.leaf_keys[leaf] = sorted_keys[place];
    }
  }
  __syncthreads();
  make_level(tree, to.boxes, 1, of_leaves, of_nodes, fan_out);
  __syncthreads();
  make_level(tree, to.boxes, 2, of_nodes, of_block, 1);
}

// Computes the box of a node of `level`. The node has eight lanes, one for each child on the level
// below. A lane whose child does not exist reads the box of the node's first child instead. Exactly
// the lanes in the mask `lanes` must call.
__device__ inline void make_box(const TreeView& tree, TreeBox* boxes, int level,
                                std::uint64_t child, unsigned lanes) {
  const std::uint64_t node = child / fan_out;
  const std::uint64_t source = child < tree.nodes[level - 1] ? child : node * fan_out;
  const auto box = box_of_lanes<fan_out>(boxes[tree.firsts[level - 1] + source], lanes);
  if (child % fan_out == 0) boxes[tree.firsts[level] + node] = box;
}

// Computes the boxes of all nodes of `level`, with eight lanes for each node, one for each child.
// The level below must be complete.
__global__ void boxes_kernel(const __grid_constant__ TreeView tree, TreeBox* boxes, int level) {
  const std::uint64_t child = thread_index();
  const bool has_node = child / fan_out < tree.nodes[level];
  const unsigned lanes = __ballot_sync(~0u, has_node);
  if (has_node) make_box(tree, boxes, level, child, lanes);
}

// One block computes the boxes of all levels from `level` on. If `bounds` is not null, it is set to
// the box around all objects. The levels below `level` must be complete.
__global__ void upper_boxes_kernel(const __grid_constant__ TreeView tree, TreeBox* boxes, int level,
                                   Bounds* bounds) {
  for (; level < tree.levels; ++level) {
    const std::uint32_t children = tree.nodes[level] * fan_out;
    for (std::uint32_t begin = 0; begin < children; begin += blockDim.x) {
      const std::uint32_t child = begin + threadIdx.x;
      const unsigned lanes = __ballot_sync(~0u, child < children);
      if (child < children) make_box(tree, boxes, level, child, lanes);
    }
    __syncthreads();
  }
  if (threadIdx.x != 0 || bounds == nullptr) return;
  const int top = tree.levels - 1;
  auto all = boxes[tree.firsts[top]];
  for (std::uint32_t node = 1; node < tree.nodes[top]; ++node)
    all = box_around(all, boxes[tree.firsts[top] + node]);
  for (int d = 0; d < 3; ++d) {
    bounds->min[d] = all.min[d];
    bounds->max[d] = all.max[d];
  }
}

}  // namespace starling::gpu
