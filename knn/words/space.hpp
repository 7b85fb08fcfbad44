// Where objects live: the space of a processor, an engine and a server, and its options.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// Where objects live; one per server.
enum class Space : std::uint8_t {
  planar2,  ///< x, y in metres
  planar3,  ///< x, y, z in metres
  wgs84,    ///< longitude, latitude in degrees, altitude in metres above the ellipsoid
  vector,   ///< as many components as SpaceOptions::dimension says; no lattice
};

std::string_view to_string(Space space);
/// A space with a lattice; the name of a vector space would need a dimension beside it.
std::optional<Space> space_from_string(std::string_view text);

/// Components a user's position has: 2 for planar2, 3 for planar3; wgs84 takes 2 or 3. Vector
/// spaces have no positions.
constexpr int dimensions(Space space) {
  return space == Space::planar2 ? 2 : 3;
}

/// A user's position: x, y, z in metres, or longitude, latitude in degrees and altitude in metres.
using Position = std::array<double, 3>;

struct SpaceOptions {
  Space space = Space::planar2;
  double resolution_m = 0.01;
  Position origin{};  ///< metres, subtracted in float64 before rounding; zero for wgs84

  // Vector spaces alone use these two, and neither of the two above:
  std::uint32_t dimension = 0;  ///< 1 to dimension_max; 0 in all other spaces
  Metric metric = Metric::l2;

  bool is_vector() const { return space == Space::vector; }
  bool operator==(const SpaceOptions&) const = default;
};

}  // namespace starling
