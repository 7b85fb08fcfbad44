// SPDX-License-Identifier: Apache-2.0
// The index of a tick on the plane: a grid of square cells, each split into as many leaves as its
// objects need. Objects are stored in the order of their cells, and within a cell in the order of
// their leaves. DeviceGrid owns the index; the searches read it.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "starling/gpu/points/index/attached_view.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// Measured on one H200. Other values (cells of 32 to 256 objects, leaves of 2 to 8 objects) make
/// build and search up to a tenth slower. This holds for evenly spread and for clustered objects.
struct GridTuning {
  static constexpr std::uint32_t cell_objects = 64;  ///< objects of a cell if evenly spread
  static constexpr std::uint32_t leaf_objects = 4;   ///< objects that a leaf should hold
  static constexpr int splits_max = 64;              ///< the most leaves of a cell along an axis
};

/// A crowd is a leaf with more than `crowd_min` objects, all at one position. If a leaf with more
/// than `crowd_min` objects is not a crowd, its first and last object have different positions. A
/// crowd begins with the `crowd_front` objects with the smallest ids, in ascending order of their
/// ids. A search for up to crowd_front - 1 neighbours that rejects at most one object needs no
/// other object of the crowd.
inline constexpr std::uint32_t crowd_front = 1025;
inline constexpr std::uint32_t crowd_min = 2048;

/// A position's index on a Hilbert curve through the grid's extent. It has 16 bits of each
/// coordinate.
using GridKey = std::uint32_t;
inline constexpr int grid_key_bits = 32;

/// Where the cells of a layer are. An object outside the grid belongs to the nearest cell at the
/// grid's border.
struct GridGeometry {
  std::int32_t min_x = 0;
  std::int32_t min_y = 0;
  std::uint32_t extent_x = 0;  ///< the greatest x minus the least, in lattice units
  std::uint32_t extent_y = 0;
  std::uint32_t cells_per_unit = 0;  ///< 2^32 divided by the side of a cell in lattice units
  std::int32_t columns = 0;
  std::int32_t rows = 0;
  float cell_side = 0;           ///< lattice units
  std::uint32_t first_cell = 0;  ///< the number of the layer's first cell
};

/// The pointers are device pointers. Objects are ordered by layer, then by cell, and within a cell
/// by leaf. An object's place is its rank in this order; an object in several layers has several
/// places. The cells of a layer and the leaves of a cell are numbered row by row.
struct GridView {
  const GridGeometry* geometry = nullptr;  ///< [layer]
  const std::uint32_t* starts = nullptr;   ///< each cell's first place, then the last cell's end
  /// For each cell: the first place of each of its leaves, then the cell's end. leaves_of() says
  /// where a cell's offsets begin. A cell without objects has no offsets.
  const std::uint32_t* offsets = nullptr;
  const int2* points = nullptr;  ///< [place]; an unused point follows the last
  const Slot* slots = nullptr;   ///< [place]
  AttachedView attached;         ///< used in layer 0 only
  std::uint32_t count = 0;       ///< how many objects layer 0 has

  bool operator==(const GridView&) const = default;
};

}  // namespace starling::gpu
