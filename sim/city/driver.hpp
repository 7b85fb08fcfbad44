// SPDX-License-Identifier: Apache-2.0
// This file defines the state of a driver: the position, the route, the ride, and the distances and
// times so far. The fleet moves drivers; the invariants and the summary read their state.
#pragma once

#include <array>
#include <cstdint>

#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

enum class DriverState : std::uint8_t { idle, to_pickup, occupied };
inline constexpr std::size_t driver_state_count = 3;

/// What a driver without a ride does.
enum class Idling : std::uint8_t {
  park,    ///< stays where the last rider got out
  cruise,  ///< drives around
  head,    ///< drives to the pick-up of a recent request, waits, then drives to another one
};

struct Driver {
  /// The straight leg that the driver is on. After `leg_end` the driver goes on to the waypoint
  /// with index `next_waypoint`.
  Waypoint leg_start;
  Waypoint leg_end;
  Point at;                    ///< position as of the last move
  std::int64_t driven_mm = 0;  ///< length driven on the route, as of the last move
  DriverState state = DriverState::idle;
  bool is_offered = false;  ///< idle, but asked to take a ride
  bool has_moved = true;    ///< moved since the last Fleet::tell_changes()
  bool is_driving = false;
  std::int64_t wakes_us = Ride::never_us;  ///< time at which an idle, standing driver moves on

  std::uint32_t told_tags = 0;  ///< tags last reported by Fleet::tell_changes(); 0: none yet
  RideIndex ride = none;
  Route route;
  std::size_t next_waypoint = 0;
  std::int64_t route_start_us = 0;
  std::int64_t since_us = 0;  ///< time at which the driver entered this state
  std::uint64_t trips = 0;    ///< number of idle trips; selects the random numbers of the next one
  std::array<std::int64_t, driver_state_count> driven_by_state_mm{};
  /// Time in each state, up to the end of the demand.
  std::array<std::int64_t, driver_state_count> time_by_state_us{};
};

/// Returns the driver's tags in the engine. Exactly one bit is set.
constexpr std::uint32_t tags_of(const Driver& driver) {
  if (driver.state == DriverState::to_pickup) return tag_to_pickup;
  if (driver.state == DriverState::occupied) return tag_occupied;
  return driver.is_offered ? tag_offered : tag_free;
}

}  // namespace starling::sim::city
