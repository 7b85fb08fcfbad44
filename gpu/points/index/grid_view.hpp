// SPDX-License-Identifier: Apache-2.0
// The index of a tick on the plane: a grid of square cells, each split into as many leaves as its
// objects need. Objects lie in the order of their cells, and within a cell in the order of their
// leaves. DeviceGrid owns the index; the searches read it.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "starling/gpu/points/index/attached_view.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// Measured on one H200. Other values (cells of 32 to 256 objects, leaves of 2 to 8 objects) make
/// build and search up to a tenth slower. This holds for evenly spread and for clustered objects.
struct GridTuning {
  static constexpr std::uint32_t cell_objects = 64;  ///< objects in a cell, if evenly spread
  static constexpr std::uint32_t leaf_objects = 4;   ///< objects that a leaf should hold
  static constexpr int splits_max = 64;              ///< the most leaves of a cell along an axis
};

/// In a leaf of more than `crowd_min` objects, the first and the last object are at the same
/// position only if all of them are. Then the first `crowd_front` are those with the smallest ids,
/// in the order of their ids: a search for up to crowd_front - 1 neighbours needs no others.
inline constexpr std::uint32_t crowd_front = 1025;
inline constexpr std::uint32_t crowd_min = 2048;

/// A place on a Hilbert curve through the grid's extent, with 16 bits of each coordinate.
using GridKey = std::uint32_t;
inline constexpr int grid_key_bits = 32;

/// Where the cells of a layer are. Objects outside the grid belong to the nearest cell at its
/// border.
struct GridGeometry {
  std::int32_t min_x = 0;
  std::int32_t min_y = 0;
  std::uint32_t extent_x = 0;  ///< the greatest x minus the least, in lattice units
  std::uint32_t extent_y = 0;
  std::uint32_t cells_per_unit = 0;  ///< cells for each lattice unit, times 2^32
  std::int32_t columns = 0;
  std::int32_t rows = 0;
  float cell_side = 0;           ///< in lattice units
  std::uint32_t first_cell = 0;  ///< the number of the layer's first cell
};

/// Device pointers. Objects are ordered by layer, then by cell, and within a cell by leaf. Cells
/// and leaves are numbered row by row. An object's place is its rank in this order.
struct GridView {
  const GridGeometry* geometry = nullptr;  ///< by layer
  const std::uint32_t* starts = nullptr;   ///< each cell's first place; the last cell's end follows
  /// Each leaf's first place; after a cell's last leaf also the cell's end. leaves_of() says where
  /// a cell's offsets begin. A cell without objects has no offsets.
  const std::uint32_t* offsets = nullptr;
  const int2* points = nullptr;  ///< by place; the last is followed by an unused point
  const Slot* slots = nullptr;   ///< by place
  AttachedView attached;         ///< of layer 0
  std::uint32_t count = 0;       ///< objects of layer 0

  bool operator==(const GridView&) const = default;
};

}  // namespace starling::gpu
