// SPDX-License-Identifier: Apache-2.0
// The fleet holds all drivers and moves them from period to period. The time of an arrival is exact
// to the microsecond. The simulation assigns rides to drivers. A driver without a ride does what
// FleetOptions::idling says.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/sim/city/driver.hpp"
#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

struct FleetOptions {
  std::uint64_t seed = 1;
  std::uint32_t drivers = 1000;
  Idling idling = Idling::cruise;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;  ///< Driver::time_by_state_us counts only time before end_us
};

/// A driver reached the pick-up or drop-off of a ride.
struct Arrival {
  std::int64_t time_us = 0;
  RideIndex ride = none;
  bool is_pickup = false;
  std::int64_t driven_mm = 0;  ///< length of the route that ends here
};

/// Holds the pick-ups of recent requests. Drivers that idle with Idling::head drive to these
/// places.
class RecentPickups {
 public:
  void add(const Place& place);
  bool is_empty() const { return places_.empty(); }
  const Place& draw(Random& random) const { return places_[random.below(places_.size())]; }

 private:
  std::vector<Place> places_;
  std::size_t oldest_ = 0;
};

class Fleet {
 public:
  /// Drivers start near pick-ups drawn from `starts`, or anywhere in the world's area if `starts`
  /// is empty.
  Fleet(const FleetOptions& options, const World& world, std::span<const Request> starts);

  std::span<const Driver> drivers() const { return drivers_; }
  const Driver& operator[](DriverIndex driver) const { return drivers_[driver]; }
  std::uint32_t free_count() const { return free_count_; }

  /// Moves all drivers to their places at `now_us`. Appends the arrivals since the last move to
  /// `arrivals`, driver by driver.
  void move(std::int64_t now_us, std::vector<Arrival>& arrivals);

  /// Returns the driver's place as of the last move.
  Place place_of(DriverIndex index) const;

  void set_offered(DriverIndex index, bool is_offered);
  /// Sends a free driver to the rider. Returns the length of the route in millimetres.
  std::int64_t assign(DriverIndex index, RideIndex ride_index, const Ride& ride,
                      std::int64_t now_us);

  void note_request(const Place& pickup) { recent_pickups_.add(pickup); }

  /// Calls `tell(index, at, has_moved, tags, has_new_tags)` for each driver that has moved or
  /// changed its tags since the last call.
  template <class Tell>
  void tell_changes(const Tell& tell) {
    for (DriverIndex index = 0; index < drivers_.size(); ++index) {
      Driver& driver = drivers_[index];
      const std::uint32_t tags = tags_of(driver);
      if (!driver.has_moved && driver.told_tags == tags) continue;
      tell(index, driver.at, driver.has_moved, tags, driver.told_tags != tags);
      driver.has_moved = false;
      driver.told_tags = tags;
    }
  }

  const std::array<std::uint32_t, driver_state_count>& count_by_state() const { return counts_; }

  /// Adds each driver's time in the current state to time_by_state_us. Call once, at the end.
  void close_hours(std::int64_t now_us);
  /// Returns the sum of the entries of time_by_state_us, which is the same for each driver after
  /// close_hours().
  std::int64_t hours_us() const { return options_.end_us - options_.start_us; }

 private:
  struct Trip {
    Place pickup;
    Place dropoff;
  };

  void move_one(DriverIndex index, std::int64_t now_us, std::vector<Arrival>& arrivals);
  void advance_leg(Driver& driver, std::int64_t length_mm);
  void start_route(Driver& driver, const Place& from, const Place& to, std::int64_t time_us);
  void arrive(DriverIndex index, std::int64_t time_us, std::vector<Arrival>& arrivals);
  void start_idling(DriverIndex index, std::int64_t time_us);
  void go_on_idling(DriverIndex index, std::int64_t time_us);
  void change_state(Driver& driver, DriverState state, std::int64_t time_us);

  FleetOptions options_;
  const World& world_;
  std::vector<Driver> drivers_;
  std::vector<Trip> trips_;  ///< one per driver
  RecentPickups recent_pickups_;
  std::uint32_t free_count_ = 0;  ///< number of idle drivers that are not offered a ride
  std::array<std::uint32_t, driver_state_count> counts_{};
};

}  // namespace starling::sim::city
