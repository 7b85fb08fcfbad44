// SPDX-License-Identifier: Apache-2.0
// Breaks each invariant and checks that the error names the broken invariant.
#include "starling/sim/city/invariants.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::sim::city {
namespace {

using testing::HasSubstr;

/// Three rides and two drivers. Ride 1 is finished and its driver is free, ride 2 is assigned, and
/// the rider of ride 3 gave up.
struct Scene {
  std::vector<Ride> rides{3};
  std::vector<Driver> drivers{2};

  Scene() {
    rides[0] = {.request = {.time_us = 10, .pickup = {}, .dropoff = {}},
                .pickup = {},
                .dropoff = {.at = {100, 0}},
                .state = RideState::dropped_off,
                .ends = 1,
                .driver = 0,
                .declined_by = {},
                .assigned_us = 20,
                .picked_up_us = 30,
                .ended_us = 40,
                .pickup_mm = 500,
                .trip_mm = 100'000};
    rides[1] = {.request = {.time_us = 10, .pickup = {}, .dropoff = {}},
                .pickup = {},
                .dropoff = {},
                .state = RideState::assigned,
                .driver = 1,
                .declined_by = {},
                .assigned_us = 20,
                .pickup_mm = 900};
    rides[2] = {.request = {.time_us = 10, .pickup = {}, .dropoff = {}},
                .pickup = {},
                .dropoff = {},
                .state = RideState::gave_up,
                .ends = 1,
                .declined_by = {},
                .ended_us = 50};
    drivers[0].driven_by_state_mm = {7, 500, 100'000};
    drivers[1].state = DriverState::to_pickup;
    drivers[1].ride = 1;
    drivers[1].driven_mm = 300;
    drivers[1].driven_by_state_mm = {0, 300, 0};
  }

  std::string broken(bool is_over = false) const {
    return find_broken_rule(rides, drivers, is_over, 1000);
  }
};

std::string after(const std::function<void(Scene&)>& change) {
  Scene scene;
  change(scene);
  return scene.broken();
}

TEST(Invariants, HoldInAnOrdinaryScene) {
  EXPECT_EQ(Scene().broken(), "");
}

TEST(Invariants, FindTimeThatRunsBackwards) {
  EXPECT_THAT(after([](Scene& s) { s.rides[0].picked_up_us = 15; }), HasSubstr("runs backwards"));
  EXPECT_THAT(after([](Scene& s) { s.rides[2].ended_us = 5; }), HasSubstr("ride 3"));
}

TEST(Invariants, FindRidesWithTwoEndsOrTheWrongOne) {
  EXPECT_THAT(after([](Scene& s) { s.rides[0].ends = 2; }), HasSubstr("has ended 2 times"));
  EXPECT_THAT(after([](Scene& s) { s.rides[1].ends = 1; }), HasSubstr("is assigned"));
  EXPECT_THAT(after([](Scene& s) { s.rides[2].driver = 0; }), HasSubstr("do not match that state"));
}

TEST(Invariants, FindTwoRidersOfADriver) {
  const auto second_rider = [](Scene& s) { s.rides[2] = s.rides[1]; };
  EXPECT_THAT(after(second_rider), HasSubstr("ride 3 has a driver with another ride"));
}

TEST(Invariants, FindTwoDriversOfARider) {
  const auto second_driver = [](Scene& s) {
    s.drivers[0].state = DriverState::to_pickup;
    s.drivers[0].ride = 1;
  };
  EXPECT_THAT(after(second_driver), HasSubstr("driver 1 has the ride of another driver"));
}

TEST(Invariants, FindAMillimetreThatIsMissing) {
  EXPECT_THAT(after([](Scene& s) { ++s.drivers[0].driven_by_state_mm[1]; }),
              HasSubstr("do not balance"));
  EXPECT_THAT(after([](Scene& s) { --s.rides[0].trip_mm; }), HasSubstr("do not balance"));
  EXPECT_THAT(after([](Scene& s) { s.rides[0].trip_mm = 90'000; }), HasSubstr("straight line"));
}

TEST(Invariants, FindWhatIsUnfinishedAtTheEnd) {
  Scene scene;
  EXPECT_THAT(scene.broken(true), HasSubstr("ride 2 has not ended"));
  scene.rides.resize(1);
  scene.drivers.resize(1);
  EXPECT_THAT(scene.broken(true), HasSubstr("hours of driver 1"));
  scene.drivers[0].time_by_state_us = {400, 100, 500};
  EXPECT_EQ(scene.broken(true), "");
}

}  // namespace
}  // namespace starling::sim::city
