// SPDX-License-Identifier: Apache-2.0
// Compares a planar point in whole lattice units, and a point of wgs84 in degrees: see
// rectangle.hpp.
#include "starling/knn/words/rectangle.hpp"

#include <algorithm>
#include <cmath>

#include "starling/knn/base/usage.hpp"

namespace starling {
namespace {

/// Returns the edge in lattice units, rounded as Lattice rounds a coordinate. An edge beyond the
/// lattice stays beyond it.
std::int64_t to_units(double edge, double origin_m, double resolution_m) {
  constexpr double beyond_lattice = 0x1p31;
  return std::llround(
      std::clamp((edge - origin_m) / resolution_m, -beyond_lattice, beyond_lattice));
}

bool is_between(double value, double least, double most) {
  return value >= least && value <= most;
}

}  // namespace

LatticeRectangle::LatticeRectangle(const Lattice& lattice, const Rectangle& rectangle)
    : lattice_(&lattice), degrees_(rectangle) {
  for (const double edge : {rectangle.x_min, rectangle.y_min, rectangle.x_max, rectangle.y_max})
    check_usage(!std::isnan(edge), "LatticeRectangle: an edge is not a number");
  const SpaceOptions& space = lattice.options();
  if (space.space == Space::wgs84) return;
  x_min_ = to_units(rectangle.x_min, space.origin[0], space.resolution_m);
  y_min_ = to_units(rectangle.y_min, space.origin[1], space.resolution_m);
  x_max_ = to_units(rectangle.x_max, space.origin[0], space.resolution_m);
  y_max_ = to_units(rectangle.y_max, space.origin[1], space.resolution_m);
}

std::optional<Position> LatticeRectangle::position_in(const LatticePoint& point) const {
  if (lattice_->options().space != Space::wgs84) {
    if (point.x < x_min_ || point.x > x_max_ || point.y < y_min_ || point.y > y_max_)
      return std::nullopt;
    return lattice_->to_position(point);
  }
  if (!has_longitude(point)) return std::nullopt;
  const Position position = lattice_->to_position(point);
  if (!is_between(position[1], degrees_.y_min, degrees_.y_max)) return std::nullopt;
  return position;
}

bool LatticeRectangle::has_longitude(const LatticePoint& point) const {
  const bool is_pole = point.x == 0 && point.y == 0;
  if (is_pole) return true;
  const auto has = [&](double degrees) {
    if (degrees_.x_min > degrees_.x_max)  // over the antimeridian
      return degrees >= degrees_.x_min || degrees <= degrees_.x_max;
    return is_between(degrees, degrees_.x_min, degrees_.x_max);
  };
  constexpr double antimeridian = 180;
  const double longitude = lattice_->to_longitude(point);
  return has(longitude) || (std::abs(longitude) == antimeridian && has(-longitude));
}

}  // namespace starling
