// All drivers and their movement, from tick to tick, with arrivals at their exact microsecond. The
// simulation gives them rides; without one they idle in the way chosen.
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
  std::int64_t end_us = 0;  ///< hours are counted until here
};

/// A rider got in or out.
struct Arrival {
  std::int64_t time_us = 0;
  RideIndex ride = none;
  bool is_pickup = false;
  std::int64_t driven_mm = 0;  ///< on the way that ends here
};

/// Where riders asked of late: what drivers know who head for demand.
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
  /// Drivers start at places drawn from `starts`, or anywhere in the world's area if there is none.
  Fleet(const FleetOptions& options, const World& world, std::span<const Request> starts);

  std::span<const Driver> drivers() const { return drivers_; }
  const Driver& operator[](DriverIndex driver) const { return drivers_[driver]; }
  std::uint32_t free_count() const { return free_count_; }

  /// Everyone to where they are at `now_us`; who got in and out on the way, driver by driver.
  void move(std::int64_t now_us, std::vector<Arrival>& arrivals);

  /// The driver's place as of the last move.
  Place place_of(DriverIndex index) const;

  void set_offered(DriverIndex index, bool is_offered);
  /// The driver, who is free, drives off to the rider. Returns the way's length.
  std::int64_t assign(DriverIndex index, RideIndex ride_index, const Ride& ride,
                      std::int64_t now_us);

  void note_request(const Place& pickup) { recent_pickups_.add(pickup); }

  /// Calls `tell(index, at, has_moved, tags, has_new_tags)` for each driver of whom something has
  /// changed since they were last told of.
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

  /// How many drivers are in each state.
  const std::array<std::uint32_t, driver_state_count>& count_by_state() const { return counts_; }

  /// Counts what time each driver has spent in the state they are in; once, at the end.
  void close_hours(std::int64_t now_us);
  /// That a driver's times add up to.
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
  std::vector<Trip> trips_;  ///< by driver
  RecentPickups recent_pickups_;
  std::uint32_t free_count_ = 0;  ///< idle and not offered
  std::array<std::uint32_t, driver_state_count> counts_{};
};

}  // namespace starling::sim::city
