// SPDX-License-Identifier: Apache-2.0
// Maps positions to the cells of a square grid over a box. The cells are numbered in Morton order,
// which gives objects and queries a spatial order. ObjectSnapshot keeps the box; SpatialIndex,
// TreeIndex and PlaceSort use the cells.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "starling/knn/words/types.hpp"

namespace starling::cpu {

/// The bounding box of all added points.
struct Box {
  static constexpr auto most = std::numeric_limits<std::int32_t>::max();
  static constexpr auto least = std::numeric_limits<std::int32_t>::min();

  LatticePoint min{most, most, most};
  LatticePoint max{least, least, least};

  void add(const LatticePoint& p) {
    min = {std::min(min.x, p.x), std::min(min.y, p.y), std::min(min.z, p.z)};
    max = {std::max(max.x, p.x), std::max(max.y, p.y), std::max(max.z, p.z)};
  }
  void add(const Box& other) {  // `other` must not be empty
    add(other.min);
    add(other.max);
  }
  bool is_empty() const { return min.x > max.x; }
  bool contains(const LatticePoint& p) const {
    return p.x >= min.x && p.x <= max.x && p.y >= min.y && p.y <= max.y && p.z >= min.z &&
           p.z <= max.z;
  }
};

/// A grid of 2^16 cells along each axis in 2 dimensions, or of 2^10 cells along each axis in 3.
class CellGrid {
 public:
  CellGrid() = default;

  /// `dimensions` is 2 or 3. The box must not be empty.
  CellGrid(const Box& box, int dimensions) : min_(box.min), dimensions_(dimensions) {
    const auto extent = [](std::int32_t low, std::int32_t high) {
      return static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
    };
    extent_ = std::max(
        {extent(box.min.x, box.max.x), extent(box.min.y, box.max.y), extent(box.min.z, box.max.z)});
    const int bits = dimensions == 2 ? bits_2d : bits_3d;
    shift_ = std::max(0, static_cast<int>(std::bit_width(extent_)) - bits);
  }

  /// Returns the number of bits of a cell's number.
  int cell_bits() const { return dimensions_ == 2 ? 2 * bits_2d : 3 * bits_3d; }

  int dimensions() const { return dimensions_; }
  bool is_one_point() const { return extent_ == 0; }

  /// Returns the cell of a point. A point outside the box gets the nearest cell at the border.
  std::uint32_t cell(const LatticePoint& point) const {
    const std::uint32_t x = coordinate(point.x, min_.x);
    const std::uint32_t y = coordinate(point.y, min_.y);
    if (dimensions_ == 2) return spread_by_2(x) | (spread_by_2(y) << 1);
    const std::uint32_t z = coordinate(point.z, min_.z);
    return spread_by_3(x) | (spread_by_3(y) << 1) | (spread_by_3(z) << 2);
  }

 private:
  static constexpr int bits_2d = 16;
  static constexpr int bits_3d = 10;

  std::uint32_t coordinate(std::int32_t value, std::int32_t low) const {
    const std::int64_t offset = std::int64_t{value} - low;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(offset, 0, extent_)) >> shift_;
  }

  // spread_by_2 moves bit i of the argument to bit 2 * i of the result, and spread_by_3 moves it to
  // bit 3 * i.
  static constexpr std::uint32_t spread_by_2(std::uint32_t v) {
    v = (v | (v << 8)) & 0x00ff00ffu;
    v = (v | (v << 4)) & 0x0f0f0f0fu;
    v = (v | (v << 2)) & 0x33333333u;
    return (v | (v << 1)) & 0x55555555u;
  }
  static constexpr std::uint32_t spread_by_3(std::uint32_t v) {
    v = (v | (v << 16)) & 0x030000ffu;
    v = (v | (v << 8)) & 0x0300f00fu;
    v = (v | (v << 4)) & 0x030c30c3u;
    return (v | (v << 2)) & 0x09249249u;
  }

  LatticePoint min_;
  std::uint32_t extent_ = 0;
  int shift_ = 0;
  int dimensions_ = 2;
};

}  // namespace starling::cpu
