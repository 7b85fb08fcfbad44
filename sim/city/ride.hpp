// A request for a ride and what becomes of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "starling/sim/city/roads/plane.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

using RideIndex = std::uint32_t;
using DriverIndex = std::uint32_t;
inline constexpr std::uint32_t none = ~std::uint32_t{0};

struct Request {
  std::int64_t time_us = 0;
  Point pickup;
  Point dropoff;
};

/// waiting and offered may alternate; gave_up and dropped_off are the ends.
enum class RideState : std::uint8_t { waiting, offered, assigned, picked_up, dropped_off, gave_up };

std::string_view to_string(RideState state);

struct Ride {
  static constexpr std::int64_t never_us = std::numeric_limits<std::int64_t>::max();

  Request request;
  Place pickup;
  Place dropoff;
  RideState state = RideState::waiting;
  std::uint32_t ends = 0;  ///< how often an end was reached: once, at last
  DriverIndex driver = none;
  std::uint32_t offers = 0;
  std::vector<DriverIndex> declined_by;
  std::int64_t assigned_us = never_us;
  std::int64_t picked_up_us = never_us;
  std::int64_t ended_us = never_us;
  double offered_distance_m = 0;  ///< straight, as the engine said when the driver was asked
  std::int64_t pickup_mm = 0;     ///< driven to the rider
  std::int64_t trip_mm = 0;       ///< driven with the rider

  std::int64_t wait_us() const { return picked_up_us - request.time_us; }
};

}  // namespace starling::sim::city
