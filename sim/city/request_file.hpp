// SPDX-License-Identifier: Apache-2.0
// Reads ride requests from a CSV file. The file holds New York's taxi trips as published, or it is
// any other table with the columns that RequestFileOptions::columns names. `starling simulate
// --requests` uses read_request_file().
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
  /// "time=...,pick_x=...,pick_y=...,drop_x=...,drop_y=...", where each value is a column name in
  /// the header or a column number from 1. Empty: the file has New York's layout, or a header in
  /// which these keys are the column names.
  std::string columns{};
  /// The area of the requests: low x, low y, high x, high y in the file's coordinates. If
  /// std::nullopt, the area extends area_km from the median pick-up in all four directions.
  std::optional<std::array<double, 4>> area{};
  double area_km = 40;
  std::uint64_t seed = 1;
  bool spreads_minutes = true;  ///< replace whole-minute times; see read_request_file()
  /// The length of the simulated time. Requests after its end are left out.
  std::int64_t length_us = std::numeric_limits<std::int64_t>::max();
};

/// Reads the file. Longitudes and latitudes are projected to a plane that touches the earth at the
/// median pick-up. One of New York's recorders rounded times to whole minutes. If more than 1 in 10
/// times are whole minutes and spreads_minutes is set, each of these times becomes a random time
/// within its minute, drawn from `seed`. Bad rows are counted and skipped. Throws InputError if the
/// file cannot be used, and UsageError if `columns` has none of the forms above or if no request
/// lies within `length_us`.
Demand read_request_file(const RequestFileOptions& options);

}  // namespace starling::sim::city
