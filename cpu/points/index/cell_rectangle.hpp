// SPDX-License-Identifier: Apache-2.0
// A rectangle divided into cells: the outer grid over all objects, and the inner grid of each
// block. GridIndex owns the rectangles, grid_fill.cpp puts objects into their cells, and
// grid_search.cpp reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling::cpu {

/// The integers [0, extent], divided into parts of about equal size. There are at most as many
/// parts as integers.
class Division {
 public:
  Division() = default;
  Division(std::uint32_t extent, std::uint32_t parts)
      : extent_(extent),
        parts_(parts),
        scale_(static_cast<std::uint32_t>((std::uint64_t{parts} << bits) /
                                          (std::uint64_t{extent} + 1))) {}

  std::uint32_t extent() const { return extent_; }
  std::uint32_t parts() const { return parts_; }
  /// Returns the number of parts divided by the number of integers, times 2^bits, rounded down.
  std::uint32_t scale() const { return scale_; }
  /// Returns the part in which an offset in [0, extent] lies. The larger of two offsets never lies
  /// in an earlier part.
  std::uint32_t part(std::uint32_t offset) const {
    return static_cast<std::uint32_t>(std::uint64_t{offset} * scale_ >> bits);
  }

  static constexpr int bits = 31;

 private:
  std::uint32_t extent_ = 0;
  std::uint32_t parts_ = 1;
  std::uint32_t scale_ = 1;
};

/// A rectangle in the plane of the grid's two axes, divided into columns and rows of cells.
struct CellRectangle {
  std::array<std::int32_t, 2> min{};
  std::array<Division, 2> divisions;

  std::size_t cells() const { return std::size_t{divisions[0].parts()} * divisions[1].parts(); }
  /// Returns the cell of a point inside the rectangle. Cells are numbered row by row.
  std::size_t cell(std::int32_t a, std::int32_t b) const {
    const std::uint32_t column = divisions[0].part(offset(a, min[0]));
    const std::uint32_t row = divisions[1].part(offset(b, min[1]));
    return std::size_t{row} * divisions[0].parts() + column;
  }
  static std::uint32_t offset(std::int32_t high, std::int32_t low) {
    return static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
  }
};

/// Divides a rectangle into at most `cells` cells that are about square.
CellRectangle divide(const std::array<std::int32_t, 2>& min, const std::array<std::int32_t, 2>& max,
                     std::size_t cells);

}  // namespace starling::cpu
