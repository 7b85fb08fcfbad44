// SPDX-License-Identifier: Apache-2.0
// Rounds without calling std::round, has a separate loop for many planar rows, and converts WGS84
// to earth-centred metres and back: see lattice.hpp.
#include "starling/knn/words/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "starling/knn/base/usage.hpp"

namespace starling {
namespace {

constexpr double lattice_limit = 1073741824.0;  // 2^30
constexpr double wgs84_resolution_min_m = 0.006;

// WGS84's defining constants (NIMA TR8350.2): semi-major axis and flattening.
constexpr double earth_axis_m = 6378137.0;
constexpr double earth_flattening = 1.0 / 298.257223563;
constexpr double earth_eccentricity_sq = earth_flattening * (2.0 - earth_flattening);
constexpr double radians_per_degree = std::numbers::pi / 180.0;

// Returns a number whose truncation is std::round(steps). std::round rounds to the nearest whole
// number, and halves away from zero. The function adds the largest number below 0.5 to the absolute
// value of `steps`. The addition rounds ties to even, so the sum reaches the next whole number if
// and only if the fraction of `steps` is at least 0.5. This is faster than std::round, which is a
// function call on processors without an instruction for rounding.
double before_truncation(double steps) {
  constexpr double below_half = 0x1.fffffffffffffp-2;
  return steps + std::copysign(below_half, steps);
}

/// Returns true if the truncation of `untruncated` is in [-2^30, 2^30); false for NaN.
bool fits_lattice(double untruncated) {
  return untruncated > -lattice_limit - 1 && untruncated < lattice_limit;
}

Position earth_centred(double longitude_deg, double latitude_deg, double altitude_m) {
  const double longitude = longitude_deg * radians_per_degree;
  const double latitude = latitude_deg * radians_per_degree;
  const double sin_latitude = std::sin(latitude);
  const double cos_latitude = std::cos(latitude);
  const double normal_m =
      earth_axis_m / std::sqrt(1.0 - earth_eccentricity_sq * sin_latitude * sin_latitude);
  const double from_axis_m = (normal_m + altitude_m) * cos_latitude;
  return {from_axis_m * std::cos(longitude), from_axis_m * std::sin(longitude),
          (normal_m * (1.0 - earth_eccentricity_sq) + altitude_m) * sin_latitude};
}

/// Returns the error of a wgs84 position without NaN and infinity.
PositionError error_of_degrees(const Position& position) {
  if (position[0] < -180 || position[0] > 180) return PositionError::longitude_out_of_range;
  if (position[1] < -90 || position[1] > 90) return PositionError::latitude_out_of_range;
  return PositionError::none;
}

double longitude_deg(double x, double y) {
  return std::atan2(y, x) / radians_per_degree;
}

// Returns longitude, latitude and altitude of an earth-centred position. The latitude is found by
// fixed-point iteration. Each round multiplies the error by about the squared eccentricity, 1/150.
// After eight rounds the error is below the precision of float64 at every altitude on the lattice.
Position geodetic(const Position& centred) {
  const auto [x, y, z] = centred;
  const double from_axis_m = std::hypot(x, y);
  double latitude = std::atan2(z, from_axis_m * (1.0 - earth_eccentricity_sq));
  double normal_m = earth_axis_m;
  for (int round = 0; round < 8; ++round) {
    const double sin_latitude = std::sin(latitude);
    normal_m = earth_axis_m / std::sqrt(1.0 - earth_eccentricity_sq * sin_latitude * sin_latitude);
    latitude = std::atan2(z + earth_eccentricity_sq * normal_m * sin_latitude, from_axis_m);
  }
  const double sin_latitude = std::sin(latitude);
  const double cos_latitude = std::cos(latitude);
  const double altitude_m =
      from_axis_m * cos_latitude + z * sin_latitude - earth_axis_m * earth_axis_m / normal_m;
  return {longitude_deg(x, y), latitude / radians_per_degree, altitude_m};
}

}  // namespace

std::string_view to_string(PositionError error) {
  switch (error) {
    case PositionError::none:
      return "none";
    case PositionError::not_finite:
      return "not finite";
    case PositionError::out_of_range:
      return "out of range";
    case PositionError::longitude_out_of_range:
      return "longitude outside [-180, 180]";
    case PositionError::latitude_out_of_range:
      return "latitude outside [-90, 90]";
  }
  return "unknown";
}

Lattice::Lattice(const SpaceOptions& options) : options_(options) {
  if (options.is_vector()) throw std::invalid_argument("a vector space has no lattice");
  if (options.dimension != 0)
    throw std::invalid_argument("a dimension is allowed only for a vector space");
  if (!(options.resolution_m > 0) || !std::isfinite(options.resolution_m))
    throw std::invalid_argument("the resolution must be a positive number of metres");
  if (options.space != Space::wgs84) {
    for (const double component : options.origin)
      if (!std::isfinite(component)) throw std::invalid_argument("the origin must be finite");
    return;
  }
  if (options.resolution_m < wgs84_resolution_min_m)
    throw std::invalid_argument(
        "wgs84 needs a resolution of at least 0.006 m: with a finer one the earth does not fit the "
        "lattice");
  if (options.origin != Position{})
    throw std::invalid_argument("wgs84 takes no origin; for an origin use planar2 or planar3");
}

PositionError Lattice::to_lattice(const Position& position, LatticePoint& point) const {
  for (const double component : position)
    if (!std::isfinite(component)) return PositionError::not_finite;
  Position metres;
  if (options_.space == Space::wgs84) {
    if (const PositionError error = error_of_degrees(position); error != PositionError::none)
      return error;
    metres = earth_centred(position[0], position[1], position[2]);
  } else {
    for (std::size_t i = 0; i < 3; ++i) metres[i] = position[i] - options_.origin[i];
    if (options_.space == Space::planar2) metres[2] = 0;
  }
  std::array<std::int32_t, 3> rounded;
  for (std::size_t i = 0; i < 3; ++i) {
    const double steps = before_truncation(metres[i] / options_.resolution_m);
    if (!fits_lattice(steps)) return PositionError::out_of_range;
    rounded[i] = static_cast<std::int32_t>(steps);
  }
  point = {rounded[0], rounded[1], rounded[2]};
  return PositionError::none;
}

PositionError Lattice::error_of(const Position& position) const {
  // No earth-centred coordinate is greater than the equator's radius plus the height.
  constexpr double spare_m = 1;
  const double reach_m = earth_axis_m + std::abs(position[2]) + spare_m;
  if (options_.space == Space::wgs84 && reach_m < lattice_limit * options_.resolution_m &&
      std::isfinite(position[0]) && std::isfinite(position[1]))
    return error_of_degrees(position);
  LatticePoint point;
  return to_lattice(position, point);
}

// If a row does not fit the lattice, to_lattice finds the reason.
template <std::size_t components, class Number>
void Lattice::planar_to_lattice(std::span<const Number> coordinates, std::span<LatticePoint> points,
                                std::span<PositionError> errors) const {
  for (std::size_t row = 0; row < points.size(); ++row) {
    std::array<double, 3> steps{};
    bool fits = true;
    for (std::size_t i = 0; i < components; ++i) {
      const double metres = double{coordinates[row * components + i]} - options_.origin[i];
      steps[i] = before_truncation(metres / options_.resolution_m);
      fits = fits && fits_lattice(steps[i]);
    }
    errors[row] = PositionError::none;
    if (fits) {
      points[row] = {static_cast<std::int32_t>(steps[0]), static_cast<std::int32_t>(steps[1]),
                     static_cast<std::int32_t>(steps[2])};
    } else {
      Position position{};
      for (std::size_t i = 0; i < components; ++i) position[i] = coordinates[row * components + i];
      errors[row] = to_lattice(position, points[row]);
    }
  }
}

template <class Number>
void Lattice::all_to_lattice(std::span<const Number> coordinates, std::size_t components,
                             std::span<LatticePoint> points,
                             std::span<PositionError> errors) const {
  check_usage(components == 2 || components == 3, "to_lattice: a position has ", components,
              " components; it must have 2 or 3");
  check_usage(coordinates.size() == points.size() * components && errors.size() == points.size(),
              "to_lattice: ", points.size(), " points of ", components, " components need ",
              points.size() * components, " coordinates and ", points.size(), " errors; there are ",
              coordinates.size(), " and ", errors.size());
  if (options_.space == Space::planar2 && components == 2)
    return planar_to_lattice<2>(coordinates, points, errors);
  if (options_.space == Space::planar3 && components == 3)
    return planar_to_lattice<3>(coordinates, points, errors);
  for (std::size_t row = 0; row < points.size(); ++row) {
    Position position{};
    for (std::size_t i = 0; i < components; ++i) position[i] = coordinates[row * components + i];
    errors[row] = to_lattice(position, points[row]);
  }
}

void Lattice::to_lattice(std::span<const double> coordinates, std::size_t components,
                         std::span<LatticePoint> points, std::span<PositionError> errors) const {
  all_to_lattice(coordinates, components, points, errors);
}

void Lattice::to_lattice(std::span<const float> coordinates, std::size_t components,
                         std::span<LatticePoint> points, std::span<PositionError> errors) const {
  all_to_lattice(coordinates, components, points, errors);
}

Position Lattice::to_position(const LatticePoint& point) const {
  Position metres{point.x * options_.resolution_m, point.y * options_.resolution_m,
                  point.z * options_.resolution_m};
  if (options_.space == Space::wgs84) return geodetic(metres);
  for (std::size_t i = 0; i < 3; ++i) metres[i] += options_.origin[i];
  if (options_.space == Space::planar2) metres[2] = 0;
  return metres;
}

double Lattice::to_longitude(const LatticePoint& point) const {
  return longitude_deg(point.x * options_.resolution_m, point.y * options_.resolution_m);
}

double Lattice::to_metres(std::uint64_t distance_sq) const {
  return std::sqrt(static_cast<double>(distance_sq)) * options_.resolution_m;
}

// to_metres is monotonic, rounding included, so a binary search finds the last square. The search
// begins at an estimate. Rounding makes the result differ from the estimate by at most 1 for
// squares up to about 2^50, and by thousands at 2^63.
std::uint64_t Lattice::to_distance_sq(double metres) const {
  if (!(metres >= 0)) throw std::invalid_argument("a distance must be zero or more metres");
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  const auto is_within = [&](std::uint64_t square) { return to_metres(square) <= metres; };
  if (is_within(largest)) return largest;
  const double steps = metres / options_.resolution_m;
  const double estimate = steps * steps;
  std::uint64_t within = estimate < 0x1p64 ? static_cast<std::uint64_t>(estimate) : largest;
  std::uint64_t beyond = within;
  for (std::uint64_t step = 1; !is_within(within); step *= 2) within -= std::min(within, step);
  for (std::uint64_t step = 1; is_within(beyond); step *= 2)
    beyond += std::min(largest - beyond, step);
  while (beyond - within > 1) {
    const std::uint64_t middle = within + (beyond - within) / 2;
    (is_within(middle) ? within : beyond) = middle;
  }
  return within;
}

}  // namespace starling
