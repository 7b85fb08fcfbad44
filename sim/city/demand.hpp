// SPDX-License-Identifier: Apache-2.0
// The demand of a simulation is a list of ride requests in order of time. draw_poisson_demand()
// draws the requests at random. read_request_file() in request_file.hpp reads them from a file.
// `starling simulate` passes the demand to the simulation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/plane.hpp"

namespace starling::sim::city {

/// The reasons why a row of a request file is skipped.
enum class BadRow : std::uint8_t { unparsable, null_island, outside_area, zero_length };
inline constexpr std::size_t bad_row_count = 4;

std::string_view to_string(BadRow reason);

struct Demand {
  std::vector<Request> requests;  ///< sorted by time
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;  ///< all requests are before this time
  Area area;
  std::string source;          ///< origin of the requests, as a phrase for reports
  bool is_geographic = false;  ///< the points were projected from longitudes and latitudes
  std::array<std::uint64_t, bad_row_count> bad_rows{};
  /// The first row that was skipped for each reason: "FILE:LINE:COLUMN: sentence".
  std::array<std::string, bad_row_count> first_bad_rows{};
  std::uint64_t outside_time = 0;  ///< number of good rows at or after end_us, which were left out
  std::int64_t spread_us = 0;      ///< greatest shift of whole-minute times; 0: no time was shifted

  std::uint64_t& operator[](BadRow reason) { return bad_rows[static_cast<std::size_t>(reason)]; }
};

struct PoissonOptions {
  std::uint64_t seed = 1;
  double requests_per_hour = 1000;  ///< average over a day
  std::int64_t start_us = 0;        ///< microseconds since midnight
  std::int64_t length_us = 0;
  double side_m = 10'000;       ///< side of the square around 0, 0; used if `area` is empty
  Area area{};                  ///< area of the road network, if there is one
  std::uint32_t hot_spots = 5;  ///< 0: all places are equally likely
  bool daily_curve = true;      ///< true: demand varies over the day; false: constant
};

/// Draws request times from a Poisson process. 80 % of the pick-ups and 50 % of the drop-offs are
/// near a hot spot.
Demand draw_poisson_demand(const PoissonOptions& options);

}  // namespace starling::sim::city
