// SPDX-License-Identifier: Apache-2.0
// Draws positions of test objects on the lattice of each space, in shapes that an index may handle
// wrongly.
#pragma once

#include <string_view>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "tests/support/random.hpp"

namespace starling::test {

enum class Shape {
  uniform,
  clustered,
  collinear,
  all_equal,
  one_cell_and_outlier,
  corners,       ///< the extreme coordinates of the lattice, and its middle
  antimeridian,  ///< wgs84: longitudes on both sides of 180 degrees, and exactly 180 degrees
  poles,         ///< wgs84: around both poles
};

std::string_view to_string(Shape shape);
const std::vector<Shape>& shapes_of(Space space);

/// Draws points of one shape. The extent and the centres of the shape are also random. A small
/// extent makes points with equal distances frequent.
class PointSource {
 public:
  PointSource(Space space, Shape shape, Random& random);

  LatticePoint next();
  /// Returns a random lattice point that differs from `point` by at most `reach` units in each
  /// coordinate.
  LatticePoint near(const LatticePoint& point, std::int32_t reach);

 private:
  LatticePoint next_planar();
  LatticePoint next_wgs84();
  LatticePoint around(const LatticePoint& centre, std::int32_t reach);
  LatticePoint anywhere_on_the_globe(double altitude_max_m);
  LatticePoint geographic(double longitude, double latitude, double altitude_m) const;

  Space space_;
  Shape shape_;
  Random& random_;
  Lattice lattice_;
  std::int32_t extent_ = 0;
  LatticePoint direction_;
  std::vector<LatticePoint> centres_;
};

}  // namespace starling::test
