// SPDX-License-Identifier: Apache-2.0
// Checks each ride, each driver, and the sums of distances: see invariants.hpp.
#include "starling/sim/city/invariants.hpp"

#include <string_view>

#include "starling/sim/city/fleet.hpp"

namespace starling::sim::city {
namespace {

constexpr std::int64_t rounding_mm = 2;

std::string ride_name(std::size_t index) {
  return "ride " + std::to_string(index + 1);
}
std::string driver_name(std::size_t index) {
  return "driver " + std::to_string(index + 1);
}

bool has_driver(RideState state) {
  return state == RideState::assigned || state == RideState::picked_up;
}

std::string broken_by_ride(const Ride& ride, std::size_t index, bool is_over) {
  const bool has_ended = ride.state == RideState::dropped_off || ride.state == RideState::gave_up;
  if (ride.ends != (has_ended ? 1u : 0u))
    return ride_name(index) + " has ended " + std::to_string(ride.ends) + " times and is " +
           std::string(to_string(ride.state));
  if (is_over && !has_ended) return ride_name(index) + " has not ended";
  const bool was_assigned = has_driver(ride.state) || ride.state == RideState::dropped_off;
  const bool was_picked_up = was_assigned && ride.state != RideState::assigned;
  if (was_assigned != (ride.driver != none) ||
      was_assigned != (ride.assigned_us != Ride::never_us) ||
      was_picked_up != (ride.picked_up_us != Ride::never_us) ||
      has_ended != (ride.ended_us != Ride::never_us))
    return ride_name(index) + " is " + std::string(to_string(ride.state)) +
           ", but its driver or times do not match that state";
  std::int64_t time_us = ride.request.time_us;
  for (const std::int64_t next_us : {ride.assigned_us, ride.picked_up_us, ride.ended_us}) {
    if (next_us == Ride::never_us) continue;
    if (next_us < time_us) return "the time of " + ride_name(index) + " runs backwards";
    time_us = next_us;
  }
  if (ride.state == RideState::dropped_off &&
      ride.trip_mm + rounding_mm < to_mm(distance_m(ride.pickup.at, ride.dropoff.at)))
    return "the trip of " + ride_name(index) + " is shorter than the straight line";
  return {};
}

std::string broken_by_driver(const Driver& driver, std::size_t index, std::span<const Ride> rides,
                             bool is_over, std::int64_t hours_us) {
  if ((driver.state == DriverState::idle) != (driver.ride == none))
    return driver_name(index) + " is idle with a ride, or busy without one";
  if (driver.ride != none) {
    const Ride& ride = rides[driver.ride];
    if (ride.driver != index) return driver_name(index) + " has the ride of another driver";
    if (ride.state !=
        (driver.state == DriverState::occupied ? RideState::picked_up : RideState::assigned))
      return driver_name(index) + " and its ride are in states that do not match";
  }
  if (!is_over) return {};
  if (driver.ride != none) return driver_name(index) + " still has a ride";
  std::int64_t sum_us = 0;
  for (const std::int64_t time_us : driver.time_by_state_us) sum_us += time_us;
  if (sum_us != hours_us)
    return "the hours of " + driver_name(index) + " do not add up: " + std::to_string(sum_us) +
           " us of " + std::to_string(hours_us);
  return {};
}

}  // namespace

std::string find_broken_rule(std::span<const Ride> rides, std::span<const Driver> drivers,
                             bool is_over, std::int64_t hours_us) {
  std::int64_t to_riders_mm = 0;
  std::int64_t with_riders_mm = 0;
  for (std::size_t i = 0; i < rides.size(); ++i) {
    if (std::string broken = broken_by_ride(rides[i], i, is_over); !broken.empty()) return broken;
    const Ride& ride = rides[i];
    // If the driver of each active ride has that ride, no two active rides share a driver.
    if (has_driver(ride.state) && drivers[ride.driver].ride != i)
      return ride_name(i) + " has a driver with another ride";
    if (ride.state == RideState::picked_up || ride.state == RideState::dropped_off)
      to_riders_mm += ride.pickup_mm;
    if (ride.state == RideState::dropped_off) with_riders_mm += ride.trip_mm;
  }
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const Driver& driver = drivers[i];
    if (std::string broken = broken_by_driver(driver, i, rides, is_over, hours_us); !broken.empty())
      return broken;
    if (driver.state == DriverState::to_pickup) to_riders_mm += driver.driven_mm;
    if (driver.state == DriverState::occupied) with_riders_mm += driver.driven_mm;
    to_riders_mm -= driver.driven_by_state_mm[1];
    with_riders_mm -= driver.driven_by_state_mm[2];
  }
  if (to_riders_mm != 0 || with_riders_mm != 0)
    return "the kilometres do not balance: rides count " + std::to_string(to_riders_mm) +
           " mm more than drivers drove to riders, and " + std::to_string(with_riders_mm) +
           " mm more than they drove with riders";
  return {};
}

std::string find_broken_rule(std::span<const Ride> rides, const Fleet& fleet, bool is_over) {
  return find_broken_rule(rides, fleet.drivers(), is_over, fleet.hours_us());
}

std::string_view to_string(RideState state) {
  switch (state) {
    case RideState::waiting:
      return "waiting";
    case RideState::offered:
      return "offered";
    case RideState::assigned:
      return "assigned";
    case RideState::picked_up:
      return "picked_up";
    case RideState::dropped_off:
      return "dropped_off";
    case RideState::gave_up:
      return "gave_up";
  }
  return "unknown";
}

}  // namespace starling::sim::city
