// A driver: where, on which way, for whom, and the kilometres and hours so far.
#pragma once

#include <array>
#include <cstdint>

#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

enum class DriverState : std::uint8_t { idle, to_pickup, occupied };
inline constexpr std::size_t driver_state_count = 3;

/// What a driver does without a fare.
enum class Idling : std::uint8_t {
  park,    ///< stands where the last rider left
  cruise,  ///< drives about
  head,    ///< for where riders asked of late, waits there, and heads on
};

struct Driver {
  /// The straight piece under way; beyond its end `next_waypoint` of the route goes on.
  Waypoint leg_start;
  Waypoint leg_end;
  Point at;                    ///< as of the last move
  std::int64_t driven_mm = 0;  ///< of the route, as of the last move
  DriverState state = DriverState::idle;
  bool is_offered = false;  ///< idle, but asked to take a ride
  bool has_moved = true;    ///< since Fleet::tell_changes
  bool is_driving = false;
  std::int64_t wakes_us = Ride::never_us;  ///< standing without a fare: when it goes on

  std::uint32_t told_tags = 0;  ///< by Fleet::tell_changes; 0: nothing yet
  RideIndex ride = none;
  Route route;
  std::size_t next_waypoint = 0;
  std::int64_t route_start_us = 0;
  std::int64_t since_us = 0;  ///< in this state
  std::uint64_t trips = 0;    ///< idle ones too; numbers the random draws
  std::array<std::int64_t, driver_state_count> driven_by_state_mm{};
  std::array<std::int64_t, driver_state_count> time_by_state_us{};  ///< while demand lasts
};

/// What the engine is told of a driver: exactly one bit.
constexpr std::uint32_t tags_of(const Driver& driver) {
  if (driver.state == DriverState::to_pickup) return tag_to_pickup;
  if (driver.state == DriverState::occupied) return tag_occupied;
  return driver.is_offered ? tag_offered : tag_free;
}

}  // namespace starling::sim::city
