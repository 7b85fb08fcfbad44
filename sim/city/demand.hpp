// Who asks for a ride, when, from where to where: drawn, or read from a file. Either way a list of
// requests in order of time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/plane.hpp"

namespace starling::sim::city {

/// Why a row of a request file is skipped.
enum class BadRow : std::uint8_t { unparsable, null_island, outside_area, zero_length };
inline constexpr std::size_t bad_row_count = 4;

std::string_view to_string(BadRow reason);

struct Demand {
  std::vector<Request> requests;  ///< by time
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;  ///< nobody asks from here on
  Area area;
  std::string source;          ///< in a phrase
  bool is_geographic = false;  ///< was, before it was laid on a plane
  std::array<std::uint64_t, bad_row_count> bad_rows{};
  std::uint64_t outside_time = 0;  ///< good rows outside the time asked for
  std::int64_t spread_us = 0;      ///< that whole minutes were spread over; 0: none were

  std::uint64_t& operator[](BadRow reason) { return bad_rows[static_cast<std::size_t>(reason)]; }
};

struct PoissonOptions {
  std::uint64_t seed = 1;
  double requests_per_hour = 1000;  ///< on average over a day
  std::int64_t start_us = 0;        ///< since midnight
  std::int64_t length_us = 0;
  double side_m = 10'000;       ///< of the square around 0, 0, if `area` is empty
  Area area{};                  ///< of a road network
  std::uint32_t hot_spots = 5;  ///< 0: evenly spread
  bool daily_curve = true;      ///< more in the morning and evening, few at night
};

/// Times by a Poisson process; four in five pick-ups and half of the drop-offs near a hot spot.
Demand draw_poisson_demand(const PoissonOptions& options);

}  // namespace starling::sim::city
