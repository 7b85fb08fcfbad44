// Requests for rides out of a CSV file: New York's taxi trips as they are published, or any other
// by the names or numbers of its columns.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "starling/sim/city/demand.hpp"

namespace starling::sim::city {

struct RequestFileOptions {
  std::string path{};
  /// "time=...,pick_lon=...,pick_lat=...,drop_lon=...,drop_lat=..." or "...,pick_x=...,pick_y=...,
  /// drop_x=...,drop_y=...": the header's names, or numbers from 1. Empty: New York's layout, or a
  /// header with just these names, as the file shows.
  std::string columns{};
  /// In the file's coordinates: low x, low y, high x, high y. Absent: within area_km of the median
  /// pick-up.
  std::optional<std::array<double, 4>> area{};
  double area_km = 40;
  std::uint64_t seed = 1;
  bool spreads_minutes = true;  ///< where many times are whole minutes
  std::int64_t length_us = std::numeric_limits<std::int64_t>::max();  ///< only the first so much
};

/// Longitudes and latitudes are laid on a plane that touches the earth at the median pick-up. Where
/// many times are whole minutes, as one of New York's recorders wrote them, those are spread over
/// their minutes, at random by the seed, unless told not to: nobody asks on the stroke. Rows that
/// make no sense are counted and left out. Throws InputError, or UsageError for `columns`.
Demand read_request_file(const RequestFileOptions& options);

}  // namespace starling::sim::city
