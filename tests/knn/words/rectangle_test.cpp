// SPDX-License-Identifier: Apache-2.0
// Tests which lattice points a rectangle contains: edges, the antimeridian and the poles.
#include "starling/knn/words/rectangle.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace starling {
namespace {

bool is_in(const Lattice& lattice, const Rectangle& rectangle, const Position& position) {
  LatticePoint point;
  EXPECT_EQ(lattice.to_lattice(position, point), PositionError::none);
  const auto found = LatticeRectangle(lattice, rectangle).position_in(point);
  if (found) {
    EXPECT_EQ(*found, lattice.to_position(point));
  }
  return found.has_value();
}

TEST(Rectangle, ContainsItsEdgesInAPlane) {
  const Lattice lattice(SpaceOptions{.origin = {1000, -2000, 0}});
  const Rectangle rectangle{1000.07, -2000.03, 1000.29, -1999.97};
  EXPECT_TRUE(is_in(lattice, rectangle, {1000.07, -2000.03}));
  EXPECT_TRUE(is_in(lattice, rectangle, {1000.29, -1999.97}));
  EXPECT_FALSE(is_in(lattice, rectangle, {1000.06, -2000.0}));
  EXPECT_FALSE(is_in(lattice, rectangle, {1000.30, -2000.0}));
  EXPECT_FALSE(is_in(lattice, rectangle, {1000.1, -2000.04}));
  EXPECT_FALSE(is_in(lattice, rectangle, {1000.1, -1999.96}));
}

TEST(Rectangle, MayBeInfiniteAndIgnoresHeight) {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  const Lattice lattice(SpaceOptions{.space = Space::planar3});
  EXPECT_TRUE(is_in(lattice, {-unbounded, -unbounded, unbounded, unbounded}, {1e6, -1e6, 1e5}));
  EXPECT_FALSE(is_in(lattice, {0, -unbounded, unbounded, unbounded}, {-1, 0, 0}));
}

TEST(Rectangle, MayGoOverTheAntimeridian) {
  const Lattice lattice(SpaceOptions{.space = Space::wgs84});
  const Rectangle fiji{177, -20, -178, -15};
  EXPECT_TRUE(is_in(lattice, fiji, {178.4, -18.1}));
  EXPECT_TRUE(is_in(lattice, fiji, {-179.9, -16}));
  EXPECT_TRUE(is_in(lattice, fiji, {180, -16}));
  EXPECT_FALSE(is_in(lattice, fiji, {0, -16}));
  EXPECT_FALSE(is_in(lattice, fiji, {176, -16}));
  EXPECT_FALSE(is_in(lattice, fiji, {-177, -16}));
  EXPECT_FALSE(is_in(lattice, fiji, {179, -21}));
}

TEST(Rectangle, TheAntimeridianIsInBothHemispheres) {
  const Lattice lattice(SpaceOptions{.space = Space::wgs84});
  for (const double longitude : {-180.0, 180.0}) {
    EXPECT_TRUE(is_in(lattice, {170, -1, 180, 1}, {longitude, 0}));
    EXPECT_TRUE(is_in(lattice, {-180, -1, -170, 1}, {longitude, 0}));
    EXPECT_FALSE(is_in(lattice, {-170, -1, 170, 1}, {longitude, 0}));
  }
}

TEST(Rectangle, APoleHasEveryLongitude) {
  const Lattice lattice(SpaceOptions{.space = Space::wgs84});
  EXPECT_TRUE(is_in(lattice, {100, 80, 101, 90}, {-7, 90}));
  EXPECT_TRUE(is_in(lattice, {100, -90, 101, -80}, {-7, -90}));
  EXPECT_FALSE(is_in(lattice, {100, 80, 101, 89}, {-7, 90}));
}

}  // namespace
}  // namespace starling
