// SPDX-License-Identifier: Apache-2.0
// The points that an index is built from: all live objects, or those that pass a filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

/// The x of an entry that is not a point. No lattice point has this x.
inline constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::min();

struct PointSet {
  std::span<const LatticePoint> positions;  ///< an entry with x = nowhere is not a point
  std::span<const Slot> slots;  ///< slot of each position; if empty, position i has slot i
  std::uint64_t count = 0;      ///< number of positions with x != nowhere
  Box box;                      ///< contains all points, and may be too large

  Slot slot(std::size_t i) const { return slots.empty() ? static_cast<Slot>(i) : slots[i]; }
};

}  // namespace starling::cpu
