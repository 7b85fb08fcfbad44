// Where objects live, and from a user's coordinates to the integer lattice, once, on arrival;
// everything after is exact. Called by the decoders of update batches and by the trace readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "knn/words/metric.hpp"
#include "knn/words/types.hpp"

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

/// Components a user's position has: 2 for planar2, 3 for planar3; wgs84 takes 2 or 3. Not of
/// vectors.
constexpr int dimensions(Space space) {
  return space == Space::planar2 ? 2 : 3;
}

/// A user's position: x, y, z in metres, or longitude, latitude in degrees and altitude in metres.
using Position = std::array<double, 3>;

struct SpaceOptions {
  Space space = Space::planar2;
  double resolution_m = 0.01;
  Position origin{};  ///< metres, subtracted in float64 before rounding; zero for wgs84

  // Of a vector space, for which the two above mean nothing:
  std::uint32_t dimension = 0;  ///< 1 to dimension_max; 0 in all other spaces
  Metric metric = Metric::l2;

  bool is_vector() const { return space == Space::vector; }
  bool operator==(const SpaceOptions&) const = default;
};

/// Why a position has no place on the lattice.
enum class PositionError : std::uint8_t {
  none,
  not_finite,              ///< NaN or infinite component
  out_of_range,            ///< beyond 2^30 lattice units from the origin
  longitude_out_of_range,  ///< outside [-180, 180]
  latitude_out_of_range,   ///< outside [-90, 90]
};

std::string_view to_string(PositionError error);

class Lattice {
 public:
  /// Throws std::invalid_argument with a sentence if the resolution is not positive and finite, is
  /// below 6 mm for wgs84, or an origin is given for wgs84; or if the space is one of vectors.
  explicit Lattice(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// Rounds half away from zero. On an error `point` is untouched.
  PositionError to_lattice(const Position& position, LatticePoint& point) const;

  /// The same for many positions at once, `components` numbers (2 or 3) each, faster: one error and
  /// one point a position.
  void to_lattice(std::span<const double> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;
  void to_lattice(std::span<const float> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;

  /// The position that the lattice point stands for (the inverse up to half a resolution).
  Position to_position(const LatticePoint& point) const;

  /// sqrt(d^2) * resolution, the number that wire and files carry.
  double to_metres(std::uint64_t distance_sq) const;

  /// floor((metres / resolution)^2), saturating; infinity means no limit, NaN and negatives throw
  /// std::invalid_argument.
  std::uint64_t to_distance_sq(double metres) const;

 private:
  template <std::size_t components, class Number>
  void planar_to_lattice(std::span<const Number> coordinates, std::span<LatticePoint> points,
                         std::span<PositionError> errors) const;
  template <class Number>
  void all_to_lattice(std::span<const Number> coordinates, std::size_t components,
                      std::span<LatticePoint> points, std::span<PositionError> errors) const;

  SpaceOptions options_;
};

}  // namespace starling
