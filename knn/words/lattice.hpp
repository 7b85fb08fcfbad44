// SPDX-License-Identifier: Apache-2.0
// Lattice rounds a user's coordinates to the integer lattice once, on arrival. All later arithmetic
// is exact. The decoders of update batches and the trace readers call Lattice::to_lattice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The reason why a position cannot be rounded to a lattice point; `none` if it can.
enum class PositionError : std::uint8_t {
  none,
  not_finite,              ///< a coordinate is NaN or infinite
  out_of_range,            ///< a coordinate is outside [-2^30, 2^30) lattice units
  longitude_out_of_range,  ///< outside [-180, 180] degrees
  latitude_out_of_range,   ///< outside [-90, 90] degrees
};

std::string_view to_string(PositionError error);

/// Converts between positions and lattice points. Example: examples/own_clock.cpp
///
///     processor.lattice().to_lattice(fix.position_m, row.position)
class Lattice {
 public:
  /// Throws std::invalid_argument with a sentence if the space is a vector space, if `dimension` is
  /// not 0, if the resolution is not positive and finite, or if the origin is not finite. For wgs84
  /// it also throws if the resolution is below 6 mm or if an origin is given.
  explicit Lattice(const SpaceOptions& options);

  const SpaceOptions& options() const { return options_; }

  /// Writes the nearest lattice point to `point`. A coordinate halfway between two lattice
  /// coordinates is rounded away from zero. Leaves `point` unchanged on an error.
  PositionError to_lattice(const Position& position, LatticePoint& point) const;

  /// Returns the error that to_lattice returns, but computes no point. Much faster for wgs84.
  PositionError error_of(const Position& position) const;

  /// Converts many positions at once, which is faster. Each position has `components` (2 or 3)
  /// consecutive numbers in `coordinates`, one entry in `points` and one entry in `errors`. Throws
  /// std::invalid_argument if these sizes differ.
  void to_lattice(std::span<const double> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;
  void to_lattice(std::span<const float> coordinates, std::size_t components,
                  std::span<LatticePoint> points, std::span<PositionError> errors) const;

  /// Returns the position of a lattice point. If a position is converted with to_lattice and back,
  /// it moves by at most half the resolution along each axis.
  Position to_position(const LatticePoint& point) const;
  /// Returns the longitude that to_position returns, in a tenth of the time. Only for wgs84.
  double to_longitude(const LatticePoint& point) const;

  /// Returns sqrt(distance_sq) * resolution_m: the distance in metres, as in messages and files.
  double to_metres(std::uint64_t distance_sq) const;
  double to_metres(RankKey key) const { return to_metres(to_number(key)); }

  /// Returns the largest squared distance whose to_metres is at most `metres`. If this holds for
  /// every number, returns the largest std::uint64_t. `metres` may be infinity. Throws
  /// std::invalid_argument for NaN and negative numbers.
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
