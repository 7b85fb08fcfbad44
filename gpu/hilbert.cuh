// Places of positions on a Hilbert curve through the bounds of all objects. Runs of neighbours on
// the curve are compact, which Morton order's are not: the boxes of the tree overlap less.
#pragma once

#include <cstdint>

#include "gpu/tree_view.hpp"

namespace starling::gpu {

/// Spreads the lower 16 bits: bit i goes to bit 2i.
__device__ inline std::uint32_t spread_by_2(std::uint32_t v) {
  v = (v | (v << 8)) & 0x00ff00ffu;
  v = (v | (v << 4)) & 0x0f0f0f0fu;
  v = (v | (v << 2)) & 0x33333333u;
  return (v | (v << 1)) & 0x55555555u;
}

/// Spreads the lower 21 bits: bit i goes to bit 3i.
__device__ inline std::uint64_t spread_by_3(std::uint64_t v) {
  v = (v | (v << 32)) & 0x001f00000000ffffull;
  v = (v | (v << 16)) & 0x001f0000ff0000ffull;
  v = (v | (v << 8)) & 0x100f00f00f00f00full;
  v = (v | (v << 4)) & 0x10c30c30c30c30c3ull;
  return (v | (v << 2)) & 0x1249249249249249ull;
}

/// Turns a cell's coordinates of `bits` bits each into its place on the curve, whose bits are
/// spread over the numbers, the first number's being the most significant of each rank.
///
/// On the plane the curve visits a square's quarters (0,0), (0,1), (1,1), (1,0); the first and the
/// last it walks with the axes swapped, the last also backwards on both.
__device__ inline void to_hilbert(std::uint32_t (&cell)[2], int bits) {
  const std::uint32_t differ = cell[0] ^ cell[1];  // no matter how a square is turned
  std::uint32_t swapped = 0;
  std::uint32_t backwards = 0;
  std::uint32_t upper = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    const std::uint32_t other = differ >> bit;
    const std::uint32_t half = (cell[0] >> bit) ^ backwards ^ (swapped & other);
    upper = upper << 1 | (half & 1);
    swapped ^= ~(half ^ other);
    backwards ^= half & other;
  }
  cell[0] = upper;
  cell[1] = differ;
}

/// J. Skilling, Programming the Hilbert curve, AIP Conf. Proc. 707, 2004.
__device__ inline void to_hilbert(std::uint32_t (&cell)[3], int bits) {
  for (std::uint32_t bit = 1u << (bits - 1); bit > 1; bit >>= 1) {
    const std::uint32_t below = bit - 1;
    for (int d = 0; d < 3; ++d) {
      const std::uint32_t swapped = (cell[d] & bit) != 0 ? 0 : (cell[0] ^ cell[d]) & below;
      cell[0] ^= (cell[d] & bit) != 0 ? below : swapped;
      cell[d] ^= swapped;
    }
  }
  for (int d = 1; d < 3; ++d) cell[d] ^= cell[d - 1];
  std::uint32_t flips = 0;
  for (std::uint32_t bit = 1u << (bits - 1); bit > 1; bit >>= 1)
    if ((cell[2] & bit) != 0) flips ^= bit - 1;
  for (int d = 0; d < 3; ++d) cell[d] ^= flips;
}

/// The key of slots without a living object: the last in order, and nobody else's.
template <int dimensions>
__device__ typename TreeTypes<dimensions>::Key key_of_nobody(int axis_bits) {
  using Key = typename TreeTypes<dimensions>::Key;
  return ~Key{0} >> (8 * sizeof(Key) - static_cast<unsigned>(dimensions * axis_bits));
}

/// A position outside the bounds has the key of the nearest inside.
template <int dimensions>
__device__ typename TreeTypes<dimensions>::Key key_of(const LatticePoint& point,
                                                      const Bounds& bounds, int axis_bits) {
  using Key = typename TreeTypes<dimensions>::Key;
  const std::int32_t coordinates[3] = {point.x, point.y, point.z};
  std::uint32_t extent = 0;
  for (int d = 0; d < dimensions; ++d)
    extent = max(extent, static_cast<std::uint32_t>(bounds.max[d] - bounds.min[d]));
  const int shift = max(32 - __clz(static_cast<int>(extent)) - axis_bits, 0);
  std::uint32_t cell[dimensions];
  for (int d = 0; d < dimensions; ++d) {
    const std::int32_t inside = min(max(coordinates[d], bounds.min[d]), bounds.max[d]);
    cell[d] = static_cast<std::uint32_t>(inside - bounds.min[d]) >> shift;
  }
  to_hilbert(cell, axis_bits);
  Key key = 0;
  for (int d = 0; d < dimensions; ++d) {
    if constexpr (dimensions == 2)
      key |= spread_by_2(cell[d]) << (dimensions - 1 - d);
    else
      key |= spread_by_3(cell[d]) << (dimensions - 1 - d);
  }
  return min(key, key_of_nobody<dimensions>(axis_bits) - 1);
}

}  // namespace starling::gpu
