// SPDX-License-Identifier: Apache-2.0
// The index of a tick in space: two trees, one of all living objects and one of the layers of
// filters. Objects are stored in the order of a Hilbert curve, and layers one after another. A leaf
// has 16 objects. An implicit tree of bounding boxes stands over the leaves. A node has up to eight
// children. DeviceTree owns the index; the search reads it.
#pragma once

#include <array>
#include <cstdint>

#include <vector_types.h>

#include "starling/gpu/points/index/attached_view.hpp"
#include "starling/gpu/points/objects/bounds.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::gpu {

inline constexpr std::uint32_t leaf_objects = 16;
/// The most children of a node.
inline constexpr std::uint32_t fan_out = 8;
inline constexpr int fan_out_bits = 3;
/// Levels of the largest tree: 16 * 8^10 objects are more than there can be slots.
inline constexpr int levels_max = 10;

/// x, y and z in lattice units. w is unused: with four numbers, one load reads a whole point.
using TreePoint = int4;

/// A position's index on a Hilbert curve. It has 21 bits of each coordinate.
using TreeKey = std::uint64_t;
inline constexpr int tree_axis_bits = 21;
inline constexpr int tree_key_bits = 3 * tree_axis_bits;

/// In the tree of layers, the upper bits of a key are the number of the layer. The other bits are
/// the upper bits of the index on the curve.
inline constexpr int layer_bits = 20;
inline constexpr int layer_key_bits = 64 - layer_bits;  ///< bits of the index on the curve

struct alignas(8) TreeBox {
  std::int32_t min[3];
  std::int32_t max[3];
};

/// The pointers are device pointers. An object's place is its rank in the order of the keys. Leaf i
/// holds places 16i to 16i + 15, all of one layer. Level 0 has the leaves' boxes. The last level
/// has at most eight nodes.
struct TreeView {
  const TreePoint* points = nullptr;  ///< [place]; padded to the end of the last leaf
  const Slot* slots = nullptr;        ///< [place]; no_slot after a layer's last object
  AttachedView attached;
  const TreeKey* leaf_keys = nullptr;              ///< the key of each leaf's first object
  const TreeBox* boxes = nullptr;                  ///< [node], level after level
  const Bounds* bounds = nullptr;                  ///< one box; the keys are relative to it
  std::uint32_t count = 0;                         ///< how many places there are
  int levels = 0;                                  ///< 0 if there are no objects
  std::array<std::uint32_t, levels_max> nodes{};   ///< how many nodes each level has
  std::array<std::uint32_t, levels_max> firsts{};  ///< the index of each level's first box

  bool operator==(const TreeView&) const = default;
};

struct TreesView {
  TreeView all;     ///< layer 0: all living objects
  TreeView layers;  ///< layers 1, 2 and so on; no places if there are no such layers
};

}  // namespace starling::gpu
