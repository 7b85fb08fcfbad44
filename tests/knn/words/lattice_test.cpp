// SPDX-License-Identifier: Apache-2.0
// Tests the conversion of coordinates to the lattice and back: rounding, ranges, and reasons of
// errors. Compares the ellipsoid with GeographicLib, an independent implementation.
#include "starling/knn/words/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <GeographicLib/Geocentric.hpp>
#include <GeographicLib/Geodesic.hpp>
#include <gtest/gtest.h>

#include "starling/knn/words/filter.hpp"
#include "tests/support/random.hpp"

namespace starling {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double end_of_lattice = 1 << 30;

Lattice lattice_of(Space space, double resolution_m = 0.01, const Position& origin = {}) {
  return Lattice(SpaceOptions{space, resolution_m, origin});
}

LatticePoint point_at(const Lattice& lattice, const Position& position) {
  LatticePoint point;
  EXPECT_EQ(to_string(lattice.error_of(position)), to_string(PositionError::none));
  EXPECT_EQ(to_string(lattice.to_lattice(position, point)), to_string(PositionError::none));
  return point;
}

PositionError error_at(const Lattice& lattice, const Position& position) {
  LatticePoint point{7, 8, 9};
  const PositionError error = lattice.to_lattice(position, point);
  EXPECT_EQ(to_string(lattice.error_of(position)), to_string(error));
  const bool untouched = point == LatticePoint{7, 8, 9};
  EXPECT_EQ(untouched, error != PositionError::none);
  return error;
}

TEST(Lattice, RoundsHalfAwayFromZero) {
  const Lattice metres = lattice_of(Space::planar3, 1.0);
  EXPECT_EQ(point_at(metres, {0.5, 1.5, 2.5}), (LatticePoint{1, 2, 3}));
  EXPECT_EQ(point_at(metres, {-0.5, -1.5, -2.5}), (LatticePoint{-1, -2, -3}));
  EXPECT_EQ(point_at(metres, {0.49, -0.49, 2.51}), (LatticePoint{0, 0, 3}));
  EXPECT_EQ(point_at(metres, {0.49999999999999994, 0, 0}), (LatticePoint{0, 0, 0}));
}

// Compares rounding with std::round: for numbers that end in .5, for the float64 numbers next to
// these, and for random numbers.
TEST(Lattice, RoundsEveryNumberAsTheStandardLibraryDoes) {
  const Lattice metres = lattice_of(Space::planar3, 1.0);
  for (const std::uint64_t seed : test::seeds(3)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (int round = 0; round < 100'000; ++round) {
      const double magnitude = std::ldexp(1.0, static_cast<int>(random.below(31)));
      const double half = std::floor(random.unit() * magnitude) + 0.5;
      const double sign = random.chance(0.5) ? 1 : -1;
      const Position near{sign * std::nextafter(half, 0), sign * half,
                          sign * std::nextafter(half, infinity)};
      const Position anywhere{sign * random.unit() * magnitude, random.unit() - 0.5, 0};
      for (const Position& position : {near, anywhere}) {
        if (std::round(std::abs(position[2])) >= end_of_lattice) continue;
        const LatticePoint point = point_at(metres, position);
        EXPECT_EQ(point.x, std::round(position[0]));
        EXPECT_EQ(point.y, std::round(position[1]));
        EXPECT_EQ(point.z, std::round(position[2]));
      }
    }
  }
}

/// Draws coordinates of all kinds: midway between two lattice points, random, at the ends of the
/// ranges, beyond the ends, NaN and infinity.
template <class Number>
Number any_coordinate(test::Random& random) {
  static const std::vector<double> special{
      0,   -0.0,     90,        180,  -180,           -90,           180.5,
      nan, infinity, -infinity, 1e30, 10'737'418.235, 10'737'418.24, -10'737'418.245};
  if (random.chance(0.1)) return static_cast<Number>(random.pick(special));
  const double cells = std::floor(random.unit() * 1000) + 0.5;
  return static_cast<Number>(random.chance(0.5) ? cells / 100 : 360 * random.unit() - 180);
}

template <class Number>
void expect_rows_as_one_by_one(const Lattice& lattice, std::size_t components, std::uint64_t seed) {
  test::Random random(seed);
  for (const std::size_t rows : {0u, 1u, 31u, 32u, 33u, 1000u}) {
    std::vector<Number> coordinates(rows * components);
    for (Number& coordinate : coordinates) coordinate = any_coordinate<Number>(random);
    std::vector<LatticePoint> points(rows, LatticePoint{7, 8, 9});
    std::vector<PositionError> errors(rows);
    lattice.to_lattice(std::span<const Number>(coordinates), components, points, errors);
    for (std::size_t row = 0; row < rows; ++row) {
      Position position{};
      for (std::size_t i = 0; i < components; ++i) position[i] = coordinates[row * components + i];
      LatticePoint expected{7, 8, 9};
      EXPECT_EQ(errors[row], lattice.to_lattice(position, expected));
      EXPECT_EQ(points[row], expected);
    }
  }
}

TEST(Lattice, ManyPositionsAtOnceGoWhereEachGoesAlone) {
  const Position origin{12.345, -0.005, 3};
  for (const std::uint64_t seed : test::seeds(5)) {
    SCOPED_TRACE(test::replay_hint(seed));
    expect_rows_as_one_by_one<double>(lattice_of(Space::planar2), 2, seed);
    expect_rows_as_one_by_one<float>(lattice_of(Space::planar2), 2, seed);
    expect_rows_as_one_by_one<double>(lattice_of(Space::planar3, 0.01, origin), 3, seed);
    expect_rows_as_one_by_one<float>(lattice_of(Space::planar3, 0.01, origin), 3, seed);
    for (const std::size_t components : {2u, 3u}) {
      expect_rows_as_one_by_one<double>(lattice_of(Space::wgs84), components, seed);
      expect_rows_as_one_by_one<float>(lattice_of(Space::wgs84), components, seed);
    }
  }
}

TEST(Lattice, OfOneCentimetreByDefault) {
  EXPECT_EQ(point_at(lattice_of(Space::planar2), {1.234, -20.0, 0}), (LatticePoint{123, -2000, 0}));
}

TEST(Lattice, KeepsZAtZeroInPlanar2) {
  EXPECT_EQ(point_at(lattice_of(Space::planar2), {1, 2, 3}), (LatticePoint{100, 200, 0}));
}

TEST(Lattice, SubtractsTheOriginFirst) {
  const Lattice utm = lattice_of(Space::planar3, 0.01, {500'000, 4'649'776.22, -100});
  EXPECT_EQ(point_at(utm, {500'001, 4'649'776.22, 0}), (LatticePoint{100, 0, 10'000}));
  const Position back = utm.to_position({100, 0, 10'000});
  EXPECT_NEAR(back[0], 500'001, 1e-6);
  EXPECT_NEAR(back[1], 4'649'776.22, 1e-6);
  EXPECT_NEAR(back[2], 0, 1e-6);
}

TEST(Lattice, EndsAtTwoToTheThirtyUnits) {
  const Lattice metres = lattice_of(Space::planar3, 1.0);
  EXPECT_EQ(point_at(metres, {end_of_lattice - 1, -end_of_lattice, 0}),
            (LatticePoint{(1 << 30) - 1, -(1 << 30), 0}));
  EXPECT_EQ(point_at(metres, {end_of_lattice - 0.75, -end_of_lattice - 0.25, 0}),
            (LatticePoint{(1 << 30) - 1, -(1 << 30), 0}));
  for (const double outside :
       {end_of_lattice, end_of_lattice - 0.5, -end_of_lattice - 0.5, 1e300}) {
    EXPECT_EQ(error_at(metres, {outside, 0, 0}), PositionError::out_of_range);
    EXPECT_EQ(error_at(metres, {0, outside, 0}), PositionError::out_of_range);
    EXPECT_EQ(error_at(metres, {0, 0, outside}), PositionError::out_of_range);
  }
}

TEST(Lattice, RefusesWhatIsNotANumber) {
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (const double bad : {nan, infinity, -infinity}) {
      EXPECT_EQ(error_at(lattice_of(space), {bad, 0, 0}), PositionError::not_finite);
      EXPECT_EQ(error_at(lattice_of(space), {0, bad, 0}), PositionError::not_finite);
    }
  EXPECT_EQ(error_at(lattice_of(Space::planar3), {0, 0, nan}), PositionError::not_finite);
  EXPECT_EQ(error_at(lattice_of(Space::wgs84), {0, 0, infinity}), PositionError::not_finite);
}

TEST(Lattice, RefusesDegreesThatDoNotExist) {
  const Lattice globe = lattice_of(Space::wgs84);
  EXPECT_EQ(error_at(globe, {180.0000001, 0, 0}), PositionError::longitude_out_of_range);
  EXPECT_EQ(error_at(globe, {-181, 0, 0}), PositionError::longitude_out_of_range);
  EXPECT_EQ(error_at(globe, {0, 90.0000001, 0}), PositionError::latitude_out_of_range);
  EXPECT_EQ(error_at(globe, {0, -91, 0}), PositionError::latitude_out_of_range);
  EXPECT_EQ(error_at(globe, {-180, -90, 0}), PositionError::none);
  EXPECT_EQ(error_at(globe, {180, 90, 0}), PositionError::none);
}

TEST(Lattice, OfTheGlobeReaches4359KilometresUp) {
  const Lattice globe = lattice_of(Space::wgs84);
  EXPECT_EQ(error_at(globe, {0, 0, 4'359'000}), PositionError::none);
  EXPECT_EQ(error_at(globe, {0, 0, 4'360'000}), PositionError::out_of_range);
}

TEST(Lattice, PutsTheAxesOfTheGlobeWhereTheyAre) {
  const Lattice globe = lattice_of(Space::wgs84);
  EXPECT_EQ(point_at(globe, {0, 0, 0}), (LatticePoint{637'813'700, 0, 0}));
  EXPECT_EQ(point_at(globe, {90, 0, 0}), (LatticePoint{0, 637'813'700, 0}));
  EXPECT_EQ(point_at(globe, {0, 90, 0}), (LatticePoint{0, 0, 635'675'231}));
  EXPECT_EQ(point_at(globe, {0, -90, 100}), (LatticePoint{0, 0, -635'685'231}));
  EXPECT_EQ(point_at(globe, {180, 0, 0}), point_at(globe, {-180, 0, 0}));
}

TEST(Lattice, OfTheGlobeAgreesWithGeographicLib) {
  const Lattice globe = lattice_of(Space::wgs84);
  const auto& reference = GeographicLib::Geocentric::WGS84();
  test::Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double longitude = random.unit() * 360 - 180;
    const double latitude = random.unit() * 180 - 90;
    const double altitude_m = random.unit() * 400'000 - 10'000;
    double x = 0, y = 0, z = 0;
    reference.Forward(latitude, longitude, altitude_m, x, y, z);
    const LatticePoint point = point_at(globe, {longitude, latitude, altitude_m});
    ASSERT_NEAR(point.x, x * 100, 0.5 + 1e-6) << longitude << ' ' << latitude;
    ASSERT_NEAR(point.y, y * 100, 0.5 + 1e-6) << longitude << ' ' << latitude;
    ASSERT_NEAR(point.z, z * 100, 0.5 + 1e-6) << longitude << ' ' << latitude;
  }
}

TEST(Lattice, GivesBackThePositionOfAPoint) {
  test::Random random(2);
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84}) {
    const Lattice lattice = lattice_of(space);
    for (int i = 0; i < 20'000; ++i) {
      const Position position{random.unit() * 360 - 180, random.unit() * 180 - 90,
                              random.unit() * 20'000};
      const LatticePoint point = point_at(lattice, position);
      const Position back = lattice.to_position(point);
      ASSERT_EQ(point_at(lattice, back), point) << position[0] << ' ' << position[1];
      ASSERT_NEAR(back[2], space == Space::planar2 ? 0 : position[2], 0.01);
    }
  }
}

TEST(Lattice, GivesBackPositionsAtThePolesAndTheAntimeridian) {
  const Lattice globe = lattice_of(Space::wgs84);
  EXPECT_NEAR(globe.to_position(point_at(globe, {12, 90, 0}))[1], 90, 1e-7);
  EXPECT_NEAR(globe.to_position(point_at(globe, {12, -90, 0}))[1], -90, 1e-7);
  EXPECT_NEAR(std::abs(globe.to_position(point_at(globe, {180, 10, 0}))[0]), 180, 1e-7);
}

TEST(Lattice, MeasuresTheStraightLineWhichTheGeodesicExceedsAsDocumented) {
  const Lattice globe = lattice_of(Space::wgs84);
  const auto& geodesic = GeographicLib::Geodesic::WGS84();
  const auto shortfall_m = [&](double latitude, double azimuth, double length_m) {
    double latitude2 = 0, longitude2 = 0;
    geodesic.Direct(latitude, 8, azimuth, length_m, latitude2, longitude2);
    const std::uint64_t d_sq =
        distance_sq(point_at(globe, {8, latitude, 0}), point_at(globe, {longitude2, latitude2, 0}));
    return length_m - globe.to_metres(d_sq);
  };
  for (const double latitude : {0.0, 47.0, -80.0})
    for (const double azimuth : {0.0, 45.0, 90.0}) {
      EXPECT_NEAR(shortfall_m(latitude, azimuth, 100'000), 1.03, 0.05);
      EXPECT_NEAR(shortfall_m(latitude, azimuth, 1'000'000), 1026, 20);
    }
}

TEST(Lattice, ReportsDistancesInMetres) {
  const Lattice lattice = lattice_of(Space::planar2);
  EXPECT_EQ(lattice.to_metres(0), 0.0);
  EXPECT_EQ(lattice.to_metres(250'000), 5.0);
  EXPECT_DOUBLE_EQ(lattice.to_metres(2), std::sqrt(2.0) * 0.01);
  EXPECT_NEAR(lattice.to_metres(13835058042397261827u), 37'195'507.850273, 1e-6);
}

TEST(Lattice, TurnsADistanceLimitIntoTheLastSquareThatIsReportedWithinIt) {
  const Lattice lattice = lattice_of(Space::planar2);
  EXPECT_EQ(lattice.to_distance_sq(0), 0u);
  EXPECT_EQ(lattice.to_distance_sq(-0.0), 0u);
  EXPECT_EQ(lattice.to_distance_sq(5), 250'000u);
  EXPECT_EQ(lattice.to_distance_sq(0.29), 29u * 29u) << "(0.29 / 0.01)^2 is below 29^2 in float64";
  EXPECT_EQ(lattice_of(Space::planar2, 1.0).to_distance_sq(1.9), 3u);
  // In float64 the squares from 2^62 to this one are all reported as 2^31.
  EXPECT_EQ(lattice_of(Space::planar2, 1.0).to_distance_sq(std::exp2(31)),
            (std::uint64_t{1} << 62) + 1535);
}

/// Returns the distance that protocol/README.md promises for a squared distance in lattice units.
double reported_m(std::uint64_t square, double resolution_m) {
  return std::sqrt(static_cast<double>(square)) * resolution_m;
}

/// Returns true if `last` is the last square within the limit. Tests two squares on each side of
/// it.
bool is_last_within(std::uint64_t last, double limit_m, double resolution_m) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t begin = last - std::min<std::uint64_t>(last, 2);
  const std::uint64_t end = last + std::min<std::uint64_t>(largest - last, 2);
  for (std::uint64_t square = begin;; ++square) {
    if ((reported_m(square, resolution_m) <= limit_m) != (square <= last)) return false;
    if (square == end) return true;
  }
}

double random_resolution_m(Space space, test::Random& random) {
  constexpr double least_m[] = {1e-6, 1e-6, 0.006};
  static const std::vector<double> usual{0.01, 0.006, 0.001, 0.3, 7, 1, 1e-6, 1e3, 0.1, 1.0 / 3};
  const double resolution_m =
      random.chance(0.5) ? random.pick(usual) : std::pow(10, random.unit() * 9 - 6);
  return std::max(resolution_m, least_m[static_cast<std::size_t>(space)]);
}

/// Returns a position on the ellipsoid or on a lattice. On a lattice, the extent is random: from
/// one unit to the whole lattice.
Position random_position(Space space, double resolution_m, test::Random& random) {
  if (space == Space::wgs84)
    return {random.unit() * 360 - 180, random.unit() * 180 - 90, random.unit() * 1000};
  const double extent_m = std::exp2(random.unit() * 29.99) * resolution_m;
  return {(2 * random.unit() - 1) * extent_m, (2 * random.unit() - 1) * extent_m,
          (2 * random.unit() - 1) * extent_m};
}

/// On the ellipsoid, returns a position near `position`, or sometimes a random one. In planar
/// spaces, returns a random one.
Position random_position_near(Space space, const Position& position, double resolution_m,
                              test::Random& random) {
  if (space != Space::wgs84 || random.chance(0.2))
    return random_position(space, resolution_m, random);
  const double shift = std::pow(10, -7 * random.unit());
  return {std::clamp(position[0] + (2 * random.unit() - 1) * shift, -180.0, 180.0),
          std::clamp(position[1] + (2 * random.unit() - 1) * shift, -90.0, 90.0), position[2]};
}

TEST(Lattice, ADistanceThatWasReportedIsALimitThatKeepsItsPairAndTheNumberBelowLosesIt) {
  for (const std::uint64_t seed : test::seeds(1))
    for (const Space space : {Space::planar2, Space::planar3, Space::wgs84}) {
      SCOPED_TRACE(std::string(to_string(space)) + ", " + test::replay_hint(seed));
      test::Random random(seed);
      int lost = 0;
      int kept_by_the_number_below = 0;
      int not_the_last = 0;
      for (int pair = 0; pair < 1'000'000; ++pair) {
        const double resolution_m = random_resolution_m(space, random);
        const Lattice lattice = lattice_of(space, resolution_m);
        const Position from = random_position(space, resolution_m, random);
        const Position to = random_position_near(space, from, resolution_m, random);
        const std::uint64_t square = distance_sq(point_at(lattice, from), point_at(lattice, to));
        const double reported = reported_m(square, resolution_m);
        ASSERT_EQ(lattice.to_metres(square), reported);
        const std::uint64_t last = lattice.to_distance_sq(reported);
        if (last < square) ++lost;
        if (!is_last_within(last, reported, resolution_m)) ++not_the_last;
        if (square > 0 && lattice.to_distance_sq(std::nextafter(reported, 0)) >= square)
          ++kept_by_the_number_below;
      }
      EXPECT_EQ(lost, 0);
      EXPECT_EQ(not_the_last, 0);
      EXPECT_EQ(kept_by_the_number_below, 0);
    }
}

TEST(Lattice, EveryLimitBecomesTheLastSquareWithinItForEveryResolution) {
  constexpr double denormal = std::numeric_limits<double>::denorm_min();
  constexpr double largest = std::numeric_limits<double>::max();
  test::Random random(2);
  std::vector<double> resolutions_m{denormal, 7 * denormal, 1e-308, 1e-300, 0.01,
                                    1,        1e300,        largest};
  for (int i = 0; i < 100; ++i)
    resolutions_m.push_back(random_resolution_m(Space::planar2, random));
  for (const double resolution_m : resolutions_m) {
    const Lattice lattice = lattice_of(Space::planar3, resolution_m);
    std::vector<double> limits_m{0, denormal, resolution_m,
                                 1, largest,  std::exp2(32) * resolution_m};
    for (const double square : {0x1p52, 0x1p53, 0x1p54, 0x1p62, 0x1p63, 0x1.8p63, 0x1p64})
      for (const double factor : {1.0, 1 - 0x1p-52, 1 + 0x1p-51})
        limits_m.push_back(std::sqrt(square) * factor * resolution_m);
    for (int i = 0; i < 1000; ++i)
      limits_m.push_back(std::exp2(random.unit() * 40 - 4) * resolution_m);
    for (const double limit_m : limits_m) {
      const std::uint64_t last = lattice.to_distance_sq(limit_m);
      ASSERT_TRUE(is_last_within(last, limit_m, resolution_m))
          << limit_m << " m, resolution " << resolution_m << " m: " << last;
      ASSERT_EQ(lattice.to_distance_sq(lattice.to_metres(last)), last);
    }
  }
}

TEST(Lattice, SaturatesADistanceLimit) {
  const Lattice lattice = lattice_of(Space::planar2);
  EXPECT_EQ(lattice.to_distance_sq(infinity), to_number(Filter::any_distance));
  EXPECT_EQ(lattice.to_distance_sq(1e300), to_number(Filter::any_distance));
  EXPECT_EQ(lattice_of(Space::planar2, 1.0).to_distance_sq(std::exp2(32)),
            to_number(Filter::any_distance));
  EXPECT_THROW(lattice.to_distance_sq(nan), std::invalid_argument);
  EXPECT_THROW(lattice.to_distance_sq(-1), std::invalid_argument);
}

TEST(Lattice, RefusesASpaceThatCannotBe) {
  for (const double resolution_m : {0.0, -1.0, nan, infinity})
    EXPECT_THROW(lattice_of(Space::planar2, resolution_m), std::invalid_argument);
  EXPECT_THROW(lattice_of(Space::wgs84, 0.0059), std::invalid_argument);
  EXPECT_NO_THROW(lattice_of(Space::wgs84, 0.006));
  EXPECT_THROW(lattice_of(Space::wgs84, 0.01, {1, 0, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace starling
