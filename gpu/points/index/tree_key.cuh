// SPDX-License-Identifier: Apache-2.0
// Computes the tree's sort keys. A key is the index of a position on a Hilbert curve through the
// bounds of all objects. The kernels that build and search the tree call these functions.
#pragma once

#include <cstdint>

#include "starling/gpu/points/index/hilbert.cuh"
#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {

/// The key of slots without a living object. It is the greatest key, and no position has it.
inline constexpr TreeKey key_of_nobody = ~TreeKey{0} >> (64 - tree_key_bits);

/// Returns the key of a position. A position outside the bounds has the key of the nearest position
/// inside.
__device__ inline TreeKey key_of(const LatticePoint& point, const Bounds& bounds) {
  const std::int32_t coordinates[3] = {point.x, point.y, point.z};
  std::uint32_t extent = 0;
  for (int d = 0; d < 3; ++d)
    extent = max(extent, static_cast<std::uint32_t>(bounds.max[d] - bounds.min[d]));
  const int shift = max(32 - __clz(static_cast<int>(extent)) - tree_axis_bits, 0);
  std::uint32_t cell[3];
  for (int d = 0; d < 3; ++d) {
    const std::int32_t inside = min(max(coordinates[d], bounds.min[d]), bounds.max[d]);
    cell[d] = static_cast<std::uint32_t>(inside - bounds.min[d]) >> shift;
  }
  return min(hilbert_key(cell, tree_axis_bits), key_of_nobody - 1);
}

/// Returns the key that an object or a search of this layer has in the tree of layers. `key` is the
/// key of its position.
__device__ inline TreeKey key_in_layer(std::uint32_t layer, TreeKey key) {
  return TreeKey{layer} << layer_key_bits | key >> (tree_key_bits - layer_key_bits);
}
/// Returns the greatest key of the layer. The unused entries at the end of the layer have this key.
__device__ inline TreeKey last_key_in_layer(std::uint32_t layer) {
  return TreeKey{layer} << layer_key_bits | ((TreeKey{1} << layer_key_bits) - 1);
}

}  // namespace starling::gpu
