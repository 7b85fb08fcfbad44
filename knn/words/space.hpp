// SPDX-License-Identifier: Apache-2.0
// The space in which objects live, and its options. A processor, an engine and a server have a
// SpaceOptions each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// Where objects live, and how users write positions.
enum class Space : std::uint8_t {
  planar2,  ///< x, y in metres
  planar3,  ///< x, y, z in metres
  wgs84,    ///< longitude, latitude in degrees, altitude in metres above the ellipsoid
  vector,   ///< SpaceOptions::dimension components; no lattice
};

std::string_view to_string(Space space);
/// Returns the space with this name, or std::nullopt if no space has it. Does not accept "vector",
/// because a vector space also needs a dimension.
std::optional<Space> space_from_string(std::string_view text);

/// Returns the largest number of components of a user's position: 2 for planar2, 3 for planar3 and
/// wgs84. In wgs84 the altitude may be left out. Do not call for a vector space, which has no
/// positions.
constexpr int dimensions(Space space) {
  return space == Space::planar2 ? 2 : 3;
}

/// A user's position: x, y, z in metres, or longitude and latitude in degrees and altitude in
/// metres.
using Position = std::array<double, 3>;

struct SpaceOptions {
  Space space = Space::planar2;
  double resolution_m = 0.01;
  Position origin{};  ///< metres, subtracted in float64 before rounding; zero for wgs84

  // Only vector spaces use these two members. Vector spaces use neither resolution_m nor origin.
  std::uint32_t dimension = 0;  ///< 1 to dimension_max; 0 in all other spaces
  Metric metric = Metric::l2;

  bool is_vector() const { return space == Space::vector; }
  bool operator==(const SpaceOptions&) const = default;
};

}  // namespace starling
