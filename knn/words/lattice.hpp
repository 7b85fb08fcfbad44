// From a user's coordinates to the integer lattice, once, on arrival; everything after is exact.
// Called by the decoders of update batches and by the trace readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

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
  double to_metres(RankKey key) const { return to_metres(to_number(key)); }

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
