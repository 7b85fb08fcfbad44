// SPDX-License-Identifier: Apache-2.0
// This file defines a request for a ride, and the ride itself: its state, driver, times and
// distances. The simulation and the fleet use both.
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

/// A ride may alternate between waiting and offered. gave_up and dropped_off are final.
enum class RideState : std::uint8_t { waiting, offered, assigned, picked_up, dropped_off, gave_up };

std::string_view to_string(RideState state);

struct Ride {
  static constexpr std::int64_t never_us = std::numeric_limits<std::int64_t>::max();

  Request request;
  Place pickup;
  Place dropoff;
  RideState state = RideState::waiting;
  std::uint32_t ends = 0;  ///< how often a final state was reached; 1 at the end of a run
  DriverIndex driver = none;
  std::uint32_t offers = 0;
  std::vector<DriverIndex> declined_by;
  std::int64_t assigned_us = never_us;
  std::int64_t picked_up_us = never_us;
  std::int64_t ended_us = never_us;
  double offered_distance_m = 0;  ///< the driver's distance in the list that led to the offer
  std::int64_t pickup_mm = 0;     ///< length of the driver's route to the rider
  std::int64_t trip_mm = 0;       ///< length of the driver's route with the rider

  std::int64_t wait_us() const { return picked_up_us - request.time_us; }
};

}  // namespace starling::sim::city
