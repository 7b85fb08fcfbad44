// SPDX-License-Identifier: Apache-2.0
// Rounds a user's coordinates to the integer lattice once, on arrival. All later arithmetic is
// exact. The decoders of update batches and the trace readers call Lattice::to_lattice.
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

/// Converts between positions and lattice points. Example: examples/own_clock.cpp
///
///     processor.lattice().to_lattice(fix.position_m, row.position)
class Lattice {
 public:
  /// Throws std::invalid_argument with a sentence if the space is a vector space or a dimension is
  /// given, if the resolution is not positive and finite, or if the origin is not finite. For wgs84
  /// it also throws if the resolution is below 6 mm or if an origin is given.
  explicit Lattice(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// Rounds half away from zero. Leaves `point` unchanged on an error.
  PositionError to_lattice(const Position& position, LatticePoint& point) const;

  /// As above for many positions at once, which is faster. Each position has `components` (2 or 3)
  /// consecutive numbers in `coordinates`, one entry in `points` and one entry in `errors`.
  void to_lattice(std::span<const double> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;
  void to_lattice(std::span<const float> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;

  /// Returns the position of a lattice point. If a position is converted with to_lattice and back,
  /// it moves by at most half the resolution along each axis.
  Position to_position(const LatticePoint& point) const;

  /// Returns sqrt(distance_sq) * resolution: the distance that messages and files contain.
  double to_metres(std::uint64_t distance_sq) const;
  double to_metres(RankKey key) const { return to_metres(to_number(key)); }

  /// Returns floor((metres / resolution)^2), but at most the largest 64-bit number, which means no
  /// limit. `metres` may be infinity. Throws std::invalid_argument for NaN and negative numbers.
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
