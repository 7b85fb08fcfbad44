// SPDX-License-Identifier: Apache-2.0
// Computes the index of a cell on a Hilbert curve. Cells that follow each other on this curve form
// compact groups, so the boxes around these groups overlap less than in Morton order. Sort keys of
// objects and of searches are indices on this curve.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// Spreads the lower 16 bits: bit i becomes bit 2i.
__device__ inline std::uint32_t spread_by_2(std::uint32_t v) {
  v = (v | (v << 8)) & 0x00ff00ffu;
  v = (v | (v << 4)) & 0x0f0f0f0fu;
  v = (v | (v << 2)) & 0x33333333u;
  return (v | (v << 1)) & 0x55555555u;
}

/// Spreads the lower 21 bits: bit i becomes bit 3i.
__device__ inline std::uint64_t spread_by_3(std::uint64_t v) {
  v = (v | (v << 32)) & 0x001f00000000ffffull;
  v = (v | (v << 16)) & 0x001f0000ff0000ffull;
  v = (v | (v << 8)) & 0x100f00f00f00f00full;
  v = (v | (v << 4)) & 0x10c30c30c30c30c3ull;
  return (v | (v << 2)) & 0x1249249249249249ull;
}

/// Replaces a cell's coordinates, which have `bits` bits each, with the bits of its index on the
/// curve: bit i of cell[0] becomes bit 2i + 1 of the index, and bit i of cell[1] becomes bit 2i.
///
/// On the plane the curve visits the quarters of a square in the order (0,0), (0,1), (1,1), (1,0).
/// It walks the first and the last quarter with the axes swapped, and the last quarter also
/// backwards on both axes.
__device__ inline void to_hilbert(std::uint32_t (&cell)[2], int bits) {
  const std::uint32_t differ = cell[0] ^ cell[1];  // does not depend on the axes' order
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

/// Replaces a cell's three coordinates, which have `bits` bits each, with the bits of its index on
/// the curve in space: bit i of cell[d] becomes bit 3i + 2 - d of the index. Source: J. Skilling,
/// Programming the Hilbert curve, AIP Conf. Proc. 707, 2004.
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

/// Returns a cell's index on the curve. The cell's coordinates have `bits` bits each, and are
/// overwritten.
__device__ inline std::uint32_t hilbert_key(std::uint32_t (&cell)[2], int bits) {
  to_hilbert(cell, bits);
  return spread_by_2(cell[0]) << 1 | spread_by_2(cell[1]);
}
__device__ inline std::uint64_t hilbert_key(std::uint32_t (&cell)[3], int bits) {
  to_hilbert(cell, bits);
  return spread_by_3(cell[0]) << 2 | spread_by_3(cell[1]) << 1 | spread_by_3(cell[2]);
}

}  // namespace starling::gpu
