// SPDX-License-Identifier: Apache-2.0
// Draws points of each shape: see shapes.hpp. Points in wgs84 are drawn in degrees and then
// converted to the lattice, as a user's points are.
#include "tests/conformance/shapes.hpp"

#include <algorithm>
#include <array>

namespace starling::test {

namespace {

constexpr std::int32_t lattice_min = -(1 << 30);
constexpr std::int32_t lattice_max = (1 << 30) - 1;

SpaceOptions options_of(Space space) {
  SpaceOptions options;
  options.space = space;
  return options;
}

std::int32_t clamp_to_lattice(std::int64_t coordinate) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(coordinate, lattice_min, lattice_max));
}

}  // namespace

std::string_view to_string(Shape shape) {
  switch (shape) {
    case Shape::uniform:
      return "uniform";
    case Shape::clustered:
      return "clustered";
    case Shape::collinear:
      return "collinear";
    case Shape::all_equal:
      return "all_equal";
    case Shape::one_cell_and_outlier:
      return "one_cell_and_outlier";
    case Shape::corners:
      return "corners";
    case Shape::antimeridian:
      return "antimeridian";
    case Shape::poles:
      return "poles";
  }
  return "unknown";
}

const std::vector<Shape>& shapes_of(Space space) {
  static const std::vector<Shape> planar{Shape::uniform,   Shape::clustered,
                                         Shape::collinear, Shape::all_equal,
                                         Shape::corners,   Shape::one_cell_and_outlier};
  static const std::vector<Shape> geographic{Shape::uniform,   Shape::clustered,
                                             Shape::collinear, Shape::all_equal,
                                             Shape::poles,     Shape::antimeridian};
  return space == Space::wgs84 ? geographic : planar;
}

PointSource::PointSource(Space space, Shape shape, Random& random)
    : space_(space), shape_(shape), random_(random), lattice_(options_of(space)) {
  static constexpr std::array<std::int32_t, 4> extents{3, 100, 100'000, 2'000'000};
  extent_ = random_.pick(std::span<const std::int32_t>(extents));
  direction_ = around({}, 3);
  for (int i = 0; i < 4; ++i)
    centres_.push_back(space == Space::wgs84 ? anywhere_on_the_globe(0) : around({}, 1 << 29));
}

LatticePoint PointSource::next() {
  return space_ == Space::wgs84 ? next_wgs84() : next_planar();
}

LatticePoint PointSource::near(const LatticePoint& point, std::int32_t reach) {
  return around(point, reach);
}

LatticePoint PointSource::around(const LatticePoint& centre, std::int32_t reach) {
  const auto coordinate = [&](std::int32_t middle) {
    return clamp_to_lattice(middle + random_.between(-reach, reach));
  };
  LatticePoint point;
  point.x = coordinate(centre.x);
  point.y = coordinate(centre.y);
  if (space_ != Space::planar2) point.z = coordinate(centre.z);
  return point;
}

LatticePoint PointSource::next_planar() {
  switch (shape_) {
    case Shape::clustered:
      return around(random_.pick(centres_), random_.chance(0.2) ? extent_ : extent_ / 10);
    case Shape::collinear: {
      const std::int64_t step = random_.between(-extent_, extent_);
      return {clamp_to_lattice(step * direction_.x), clamp_to_lattice(step * direction_.y),
              clamp_to_lattice(step * direction_.z)};
    }
    case Shape::all_equal:
      return centres_.front();
    case Shape::one_cell_and_outlier:
      if (random_.chance(0.02)) return around({}, lattice_max);
      return around(centres_.front(), 2);
    case Shape::corners: {
      static constexpr std::array<std::int32_t, 7> ends{lattice_min, lattice_min + 1, -1,         0,
                                                        1,           lattice_max - 1, lattice_max};
      const std::span<const std::int32_t> choices(ends);
      return {random_.pick(choices), random_.pick(choices),
              space_ == Space::planar2 ? 0 : random_.pick(choices)};
    }
    default:
      return around({}, extent_);
  }
}

LatticePoint PointSource::next_wgs84() {
  const double degrees = extent_ * 1e-7;
  const double offset = (random_.unit() * 2 - 1) * degrees;
  const double longitude = random_.unit() * 360 - 180;
  switch (shape_) {
    case Shape::clustered:
      return around(random_.pick(centres_), extent_);
    case Shape::collinear:
      return geographic(longitude, 0, 0);
    case Shape::all_equal:
      return centres_.front();
    case Shape::antimeridian:
      return geographic(offset > 0 ? 180 - offset : -180 - offset, random_.normal() * degrees, 0);
    case Shape::poles:
      return geographic(longitude, offset > 0 ? 90 - offset : -90 - offset, 0);
    default:
      return anywhere_on_the_globe(random_.chance(0.3) ? 12'000 : 0);
  }
}

LatticePoint PointSource::anywhere_on_the_globe(double altitude_max_m) {
  const double longitude = random_.unit() * 360 - 180;
  const double latitude = random_.unit() * 180 - 90;
  return geographic(longitude, latitude, random_.unit() * altitude_max_m);
}

LatticePoint PointSource::geographic(double longitude, double latitude, double altitude_m) const {
  LatticePoint point;
  lattice_.to_lattice({longitude, std::clamp(latitude, -90.0, 90.0), altitude_m}, point);
  return point;
}

}  // namespace starling::test
