// The index of a tick on the plane: a grid of square cells, each of which is split into as many
// leaves as its objects call for, in the order of their cells and leaves. DeviceGrid owns it; the
// search reads it.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// Measured on one H200: cells of 32 to 256 objects with leaves of 2 to 8 cost up to a tenth more
/// to build and search, evenly spread or clustered.
struct GridTuning {
  static constexpr std::uint32_t cell_objects = 64;  ///< that a cell holds where they lie evenly
  static constexpr std::uint32_t leaf_objects = 4;   ///< that a leaf is to hold
  static constexpr int splits_max = 64;              ///< of a cell along each axis
};

/// A place on a Hilbert curve through the grid's extent, with 16 bits of each coordinate.
using GridKey = std::uint32_t;
inline constexpr int grid_key_bits = 32;

/// Where the cells are. Objects may lie outside: they are in the nearest cell, those of the border.
struct GridGeometry {
  std::int32_t min_x = 0;
  std::int32_t min_y = 0;
  std::uint32_t extent_x = 0;  ///< the greatest x less the least
  std::uint32_t extent_y = 0;
  std::uint32_t cells_per_unit = 0;  ///< in units of 2^-32
  std::int32_t columns = 0;
  std::int32_t rows = 0;
  float cell_side = 0;  ///< in lattice units
};

/// Device pointers. A place is a rank in order of cells, row by row, and in a cell of leaves, row
/// by row.
struct GridView {
  const GridGeometry* geometry = nullptr;
  const std::uint32_t* starts = nullptr;  ///< by cell: its first place; where the last one's end
  /// By leaf: its first place; where the last one of a cell ends. leaves_of() says where a cell's
  /// are; one without objects has none.
  const std::uint32_t* offsets = nullptr;
  const int2* points = nullptr;  ///< by place; readable up to an even number
  const Slot* slots = nullptr;   ///< by place
  std::uint32_t count = 0;       ///< objects

  bool operator==(const GridView&) const = default;
};

}  // namespace starling::gpu
