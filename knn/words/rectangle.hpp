// SPDX-License-Identifier: Apache-2.0
// A rectangle of positions, and the test whether a lattice point is in it. The server's GetObjects
// requests use both.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// All positions from x_min to x_max and from y_min to y_max, inclusive, whatever z. In a wgs84
/// space x is the longitude and y the latitude, in degrees. A wgs84 rectangle with x_min greater
/// than x_max crosses the antimeridian.
struct Rectangle {
  double x_min = 0;
  double y_min = 0;
  double x_max = 0;
  double y_max = 0;
  bool operator==(const Rectangle&) const = default;
};

class LatticeRectangle {
 public:
  /// The edges must not be NaN. They may be infinite. The lattice must outlive this object.
  LatticeRectangle(const Lattice& lattice, const Rectangle& rectangle);

  /// Returns the position of the point, as Lattice::to_position does, if it is in the rectangle. In
  /// a planar space, the edges are rounded to the lattice in the same way as positions. In a wgs84
  /// space, the point's longitude and latitude are compared with the edges. A pole has every
  /// longitude, and the antimeridian has the longitudes -180 and 180.
  std::optional<Position> position_in(const LatticePoint& point) const;

 private:
  bool has_longitude(const LatticePoint& point) const;

  const Lattice* lattice_;
  Rectangle degrees_{};  ///< the edges in degrees; used in a wgs84 space only
  // In a planar space, the edges in lattice units.
  std::int64_t x_min_ = 0;
  std::int64_t y_min_ = 0;
  std::int64_t x_max_ = 0;
  std::int64_t y_max_ = 0;
};

}  // namespace starling
