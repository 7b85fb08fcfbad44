// SPDX-License-Identifier: Apache-2.0
// Reads ride requests from a CSV file: New York's taxi trips as published, or any other table by
// the names or numbers of its columns.
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
  /// "time=...,pick_lon=...,pick_lat=...,drop_lon=...,drop_lat=..." or
  /// "time=...,pick_x=...,pick_y=...,drop_x=...,drop_y=...", with names of the header or column
  /// numbers from 1. Empty: the file has New York's layout, or a header with the keys as names.
  std::string columns{};
  /// Low x, low y, high x, high y in the file's coordinates. std::nullopt: within area_km of the
  /// median pick-up.
  std::optional<std::array<double, 4>> area{};
  double area_km = 40;
  std::uint64_t seed = 1;
  bool spreads_minutes = true;  ///< spread times that are rounded to whole minutes
  std::int64_t length_us = std::numeric_limits<std::int64_t>::max();  ///< requests after this: cut
};

/// Reads the file. Longitudes and latitudes are projected to a plane that touches the earth at the
/// median pick-up. If many times are whole minutes, as from one of New York's recorders, and
/// spreads_minutes is set, these times are spread over their minutes at random by the seed. Bad
/// rows are counted and skipped. Throws InputError, and UsageError for `columns` and `length_us`.
Demand read_request_file(const RequestFileOptions& options);

}  // namespace starling::sim::city
