// SPDX-License-Identifier: Apache-2.0
// Moves drivers, reports arrivals and lets free drivers idle: see fleet.hpp.
#include "starling/sim/city/fleet.hpp"

#include <algorithm>

#include "starling/knn/base/assert.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t recent_pickups_max = 1000;
constexpr std::int64_t stand_us = 120'000'000;  // waiting time at a recent pick-up (Idling::head)
constexpr std::int64_t pause_us = 1'000'000;    // waiting time after a cruise of length 0
constexpr double placement_deviation_m = 300;

std::size_t number_of(DriverState state) {
  return static_cast<std::size_t>(state);
}

/// Returns the length from the start of the route to the point that the driver reaches at
/// `time_us`. The point is on the leg from `start` to `end`. The length is exact at both ends of
/// the leg.
std::int64_t length_at(const Waypoint& start, const Waypoint& end, std::int64_t time_us) {
  if (time_us >= end.time_us) return end.length_mm;
  return start.length_mm + (end.length_mm - start.length_mm) * (time_us - start.time_us) /
                               (end.time_us - start.time_us);
}

}  // namespace

void RecentPickups::add(const Place& place) {
  if (places_.size() < recent_pickups_max) {
    places_.push_back(place);
    return;
  }
  places_[oldest_] = place;
  oldest_ = (oldest_ + 1) % recent_pickups_max;
}

Fleet::Fleet(const FleetOptions& options, const World& world, std::span<const Request> starts)
    : options_(options),
      world_(world),
      drivers_(options.drivers),
      trips_(options.drivers),
      free_count_(options.drivers) {
  counts_[number_of(DriverState::idle)] = options.drivers;
  const Area& area = world.area();
  for (DriverIndex index = 0; index < drivers_.size(); ++index) {
    Random random(options_.seed, Draw::placement, index);
    Point start{area.low.x_m + random.unit() * area.width_m(),
                area.low.y_m + random.unit() * area.height_m()};
    if (!starts.empty()) {
      start = starts[random.below(starts.size())].pickup;
      start.x_m += random.normal() * placement_deviation_m;
      start.y_m += random.normal() * placement_deviation_m;
    }
    const Place place = world_.place_at(area.clamp(start));
    Driver& driver = drivers_[index];
    driver.at = place.at;
    driver.since_us = options_.start_us;
    driver.leg_end = {.at = place.at, .edge = place.edge, .edge_offset_mm = place.offset_mm};
    driver.leg_start = driver.leg_end;
    go_on_idling(index, options_.start_us);
  }
}

void Fleet::move(std::int64_t now_us, std::vector<Arrival>& arrivals) {
  for (DriverIndex index = 0; index < drivers_.size(); ++index) {
    const Driver& driver = drivers_[index];
    if (driver.is_driving || driver.wakes_us <= now_us) move_one(index, now_us, arrivals);
  }
}

void Fleet::move_one(DriverIndex index, std::int64_t now_us, std::vector<Arrival>& arrivals) {
  Driver& driver = drivers_[index];
  driver.has_moved = true;
  for (;;) {
    if (!driver.is_driving) {
      if (driver.wakes_us > now_us) return;
      go_on_idling(index, driver.wakes_us);
      continue;
    }
    const std::int64_t route_time_us = now_us - driver.route_start_us;
    if (driver.leg_end.time_us > route_time_us) {
      const Waypoint& start = driver.leg_start;
      const Waypoint& end = driver.leg_end;
      driver.at = between(start.at, end.at,
                          static_cast<double>(route_time_us - start.time_us) /
                              static_cast<double>(end.time_us - start.time_us));
      advance_leg(driver, length_at(start, end, route_time_us));
      return;
    }
    advance_leg(driver, driver.leg_end.length_mm);
    driver.at = driver.leg_end.at;
    if (driver.next_waypoint < driver.route.waypoints.size()) {
      driver.leg_start = driver.leg_end;
      driver.leg_end = driver.route.waypoints[driver.next_waypoint++];
    } else {
      driver.is_driving = false;
      arrive(index, driver.route_start_us + driver.leg_end.time_us, arrivals);
    }
  }
}

void Fleet::advance_leg(Driver& driver, std::int64_t length_mm) {
  driver.driven_by_state_mm[number_of(driver.state)] += length_mm - driver.driven_mm;
  driver.driven_mm = length_mm;
}

void Fleet::start_route(Driver& driver, const Place& from, const Place& to, std::int64_t time_us) {
  world_.find_route(from, to, driver.route);
  driver.route_start_us = time_us;
  driver.driven_mm = 0;
  driver.leg_start = driver.leg_end = driver.route.waypoints.front();
  driver.next_waypoint = 1;
  driver.is_driving = true;
  driver.wakes_us = Ride::never_us;
}

void Fleet::arrive(DriverIndex index, std::int64_t time_us, std::vector<Arrival>& arrivals) {
  Driver& driver = drivers_[index];
  switch (driver.state) {
    case DriverState::idle:
      driver.wakes_us = time_us + (options_.idling == Idling::head ? stand_us
                                   : driver.route.time_us() == 0   ? pause_us
                                                                   : 0);
      break;
    case DriverState::to_pickup:
      arrivals.push_back({time_us, driver.ride, true, driver.driven_mm});
      change_state(driver, DriverState::occupied, time_us);
      start_route(driver, trips_[index].pickup, trips_[index].dropoff, time_us);
      break;
    case DriverState::occupied:
      arrivals.push_back({time_us, driver.ride, false, driver.driven_mm});
      start_idling(index, time_us);
      break;
  }
}

void Fleet::start_idling(DriverIndex index, std::int64_t time_us) {
  Driver& driver = drivers_[index];
  change_state(driver, DriverState::idle, time_us);
  driver.ride = none;
  ++free_count_;
  go_on_idling(index, time_us);
}

void Fleet::go_on_idling(DriverIndex index, std::int64_t time_us) {
  Driver& driver = drivers_[index];
  driver.wakes_us = Ride::never_us;
  // After the demand has ended, idle drivers stop. Otherwise the empty kilometres would depend on
  // how long the last ride takes.
  if (options_.idling == Idling::park || time_us >= options_.end_us) return;
  Random random(options_.seed, Draw::idling, index, driver.trips++);
  const Place from{driver.leg_end.at, driver.leg_end.edge, driver.leg_end.edge_offset_mm};
  if (options_.idling == Idling::cruise) {
    start_route(driver, from, world_.wander(from, random), time_us);
  } else if (!recent_pickups_.is_empty()) {
    start_route(driver, from, recent_pickups_.draw(random), time_us);
  } else {
    driver.wakes_us = time_us + stand_us;
  }
}

void Fleet::change_state(Driver& driver, DriverState state, std::int64_t time_us) {
  check_invariant(time_us >= driver.since_us, "a driver's time does not run backwards");
  const std::int64_t from_us = std::min(driver.since_us, options_.end_us);
  driver.time_by_state_us[number_of(driver.state)] += std::min(time_us, options_.end_us) - from_us;
  --counts_[number_of(driver.state)];
  ++counts_[number_of(state)];
  driver.since_us = time_us;
  driver.state = state;
}

Place Fleet::place_of(DriverIndex index) const {
  const Driver& driver = drivers_[index];
  if (!driver.is_driving) return {driver.at, driver.leg_end.edge, driver.leg_end.edge_offset_mm};
  // A leg lies on a single edge, so the driver's offset on the edge follows from the offset of the
  // leg's end.
  return {driver.at, driver.leg_end.edge,
          driver.leg_end.edge_offset_mm - (driver.leg_end.length_mm - driver.driven_mm)};
}

void Fleet::set_offered(DriverIndex index, bool is_offered) {
  Driver& driver = drivers_[index];
  check_invariant(driver.state == DriverState::idle && driver.is_offered != is_offered,
                  "only a free driver is offered a ride");
  driver.is_offered = is_offered;
  if (is_offered) {
    --free_count_;
  } else {
    ++free_count_;
  }
}

std::int64_t Fleet::assign(DriverIndex index, RideIndex ride_index, const Ride& ride,
                           std::int64_t now_us) {
  Driver& driver = drivers_[index];
  check_invariant(driver.state == DriverState::idle && !driver.is_offered && driver.ride == none,
                  "a ride is assigned to a free driver");
  --free_count_;
  const Place from = place_of(index);
  change_state(driver, DriverState::to_pickup, now_us);
  driver.ride = ride_index;
  trips_[index] = {ride.pickup, ride.dropoff};
  start_route(driver, from, ride.pickup, now_us);
  return driver.route.length_mm();
}

void Fleet::close_hours(std::int64_t now_us) {
  const std::int64_t until_us = std::max(now_us, options_.end_us);
  for (Driver& driver : drivers_) change_state(driver, driver.state, until_us);
}

}  // namespace starling::sim::city
