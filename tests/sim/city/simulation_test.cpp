// SPDX-License-Identifier: Apache-2.0
// Tests the simulation as a whole. The same seed gives the same bytes on every host. Rides go
// through their states in order. The policies keep their promises.
#include "starling/sim/city/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "starling/sim/host/server_host.hpp"
#include "tests/sim/city/city_fixture.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::sim::city {
namespace {

void expect_same(const CityRun& left, const CityRun& right) {
  EXPECT_EQ(left.rides_csv, right.rides_csv);
  EXPECT_EQ(left.periods_csv, right.periods_csv);
  EXPECT_EQ(left.summary_json, right.summary_json);
  EXPECT_EQ(left.report_html, right.report_html);
}

std::size_t count(const CityRun& run, RideState state) {
  return static_cast<std::size_t>(std::ranges::count(run.rides, state, &Ride::state));
}

std::unique_ptr<LockStepHost> host_on(const stream::RunningServer& server) {
  return std::make_unique<ServerHost>(
      server.context(),
      protocol::ManualServerOptions{.commands = server.endpoints().commands,
                                    .results = server.endpoints().results},
      "simulation");
}

class EachPolicy : public testing::TestWithParam<std::string> {
 protected:
  City city() const {
    City city;
    city.policy = GetParam();
    return city;
  }
};

INSTANTIATE_TEST_SUITE_P(City, EachPolicy, testing::Values("nearest", "batch"),
                         [](const auto& policy) { return policy.param; });

TEST_P(EachPolicy, GivesTheSameBytesForTheSameSeedAndOthersForAnother) {
  City city = this->city();
  const CityRun first = run_city(city);
  EXPECT_GT(count(first, RideState::dropped_off), 100u);
  expect_same(run_city(city), first);
  city.simulation.seed = city.demand.seed = 2;
  EXPECT_NE(run_city(city).rides_csv, first.rides_csv);
}

TEST_P(EachPolicy, GivesTheSameBytesOnTwoThreads) {
  City city = this->city();
  const CityRun one = run_city(city);
  city.threads = 2;
  expect_same(run_city(city), one);
}

TEST_P(EachPolicy, GivesTheSameBytesThroughAServer) {
  const stream::RunningServer server;
  const CityRun served = run_city(city(), [&](const FleetIndexOptions& options) {
    return std::make_unique<FleetIndex>(options, host_on(server));
  });
  expect_same(served, run_city(city()));
}

// Lists that begin with one driver lead to the same decisions as lists of all drivers, because
// lists that are too short are widened.
TEST_P(EachPolicy, DecidesTheSameWhateverListsBeginWith) {
  City city = this->city();
  city.simulation.drivers = 40;  // so few that the riders' lists overlap
  city.simulation.k = 1000;
  const CityRun all = run_city(city);
  EXPECT_EQ(all.figure("lists_widened"), 0);
  for (const std::uint32_t k : {1u, 2u, 5u}) {
    city.simulation.k = k;
    const CityRun run = run_city(city);
    EXPECT_EQ(run.rides_csv, all.rides_csv) << "k " << k;
    EXPECT_EQ(run.figure("periods_uncertain"), 0);
    if (k == 1) {
      EXPECT_GT(run.figure("lists_widened"), 0);
    }
  }
}

// Riders and drivers stand at few different places, so that many assignments have equal sums.
TEST_P(EachPolicy, DecidesTheSameAmongEqualsWhateverListsBeginWith) {
  City city = this->city();
  city.simulation.drivers = 40;
  city.simulation.idling = Idling::park;
  city.simulation.period_us = 20'000'000;
  Demand demand = draw_poisson_demand(city.demand);
  const auto snap = [](Point at) -> Point {
    return {std::round(at.x_m / 500) * 500, std::round(at.y_m / 500) * 500};
  };
  for (Request& request : demand.requests) {
    request.pickup = snap(request.pickup);
    request.dropoff = snap(request.dropoff);
    demand.area.add(request.pickup);
    demand.area.add(request.dropoff);
  }
  const StraightWorld world(demand.area, 8);
  const auto run = [&](std::uint32_t k) {
    city.simulation.k = k;
    return run_city(city, demand, world, *make_policy(GetParam()), embedded(1));
  };
  const CityRun all = run(1000);
  EXPECT_GT(count(all, RideState::dropped_off), 100u);
  for (const std::uint32_t k : {1u, 2u, 5u}) {
    const CityRun few = run(k);
    EXPECT_EQ(few.rides_csv, all.rides_csv) << "k " << k;
    EXPECT_EQ(few.figure("periods_uncertain"), 0);
  }
}

TEST_P(EachPolicy, SaysWhereItCouldNotBeSure) {
  City city = this->city();
  city.simulation.drivers = 40;
  city.simulation.k = city.simulation.k_max = 1;
  const CityRun run = run_city(city);
  EXPECT_GT(run.figure("periods_uncertain"), 0);
  EXPECT_EQ(run.figure("lists_widened"), 0);
}

TEST_P(EachPolicy, LetsRidersGiveUpAfterTheirPatienceToTheMicrosecond) {
  City city = this->city();
  city.simulation.drivers = 5;
  city.simulation.patience_us = 77'777'777;
  const CityRun run = run_city(city);
  ASSERT_GT(count(run, RideState::gave_up), 50u);
  for (const Ride& ride : run.rides) {
    if (ride.state != RideState::gave_up) continue;
    EXPECT_EQ(ride.ended_us - ride.request.time_us, 77'777'777);
    EXPECT_EQ(ride.driver, none);
  }
}

TEST(Simulation, DriversWhoDeclineAreNotAskedAgainByTheSameRider) {
  City city;
  city.simulation.decline_per_km = 1;
  const CityRun run = run_city(city);
  std::size_t declined = 0;
  for (const Ride& ride : run.rides) {
    declined += ride.declined_by.size();
    EXPECT_EQ(ride.offers, ride.declined_by.size() + (ride.driver == none ? 0 : 1));
    std::vector<DriverIndex> drivers = ride.declined_by;
    if (ride.driver != none) drivers.push_back(ride.driver);
    std::ranges::sort(drivers);
    EXPECT_EQ(std::ranges::adjacent_find(drivers), drivers.end());
  }
  EXPECT_GT(declined, 50u);
  city.simulation.decline_per_km = 0;
  EXPECT_EQ(run_city(city).figure("declined"), 0);
}

TEST(Simulation, AnAnswerTakesItsTime) {
  City city;
  city.simulation.answer_us = 7'000'000;
  const CityRun run = run_city(city);
  EXPECT_GT(count(run, RideState::dropped_off), 100u);
  for (const Ride& ride : run.rides)
    if (ride.driver != none) {
      EXPECT_GE(ride.assigned_us - ride.request.time_us, 7'000'000);
    }
}

TEST(Simulation, KeepsToTheSpeedOfItsWorld) {
  const CityRun run = run_city(City());
  for (const Ride& ride : run.rides) {
    if (ride.state != RideState::dropped_off) continue;
    const double metres = distance_m(ride.pickup.at, ride.dropoff.at);
    EXPECT_NEAR(static_cast<double>(ride.trip_mm) / 1e3, metres, 0.001);
    EXPECT_NEAR(static_cast<double>(ride.ended_us - ride.picked_up_us) / 1e6, metres / 8, 1e-5);
    // The engine measures between lattice points, which are 1 cm apart.
    EXPECT_NEAR(static_cast<double>(ride.pickup_mm) / 1e3, ride.offered_distance_m, 0.02);
  }
}

TEST(Simulation, EveryWayOfIdlingServes) {
  for (const Idling idling : {Idling::park, Idling::cruise, Idling::head}) {
    City city;
    city.simulation.idling = idling;
    const CityRun run = run_city(city);
    EXPECT_GT(count(run, RideState::dropped_off), 100u);
    EXPECT_EQ(run.figure("empty_idle_km") > 0, idling != Idling::park);
  }
}

TEST(Simulation, WithoutRequestsEndsWhenDemandWouldHave) {
  City city;
  city.demand.requests_per_hour = 0;
  const CityRun run = run_city(city);
  EXPECT_EQ(run.rides.size(), 0u);
  EXPECT_EQ(run.periods.size(), 450u);
}

// There is only one driver, and riders wait an hour. So the run goes on long after the last
// request.
TEST(Simulation, ARunThatDoesNotEndInItsPeriodsIsStopped) {
  City city;
  city.simulation.drivers = 1;
  city.simulation.patience_us = 3'600'000'000;
  city.simulation.periods_max = run_city(city).periods.size();
  EXPECT_GT(city.simulation.periods_max, 1000u);
  EXPECT_NO_THROW(run_city(city));
  --city.simulation.periods_max;
  try {
    run_city(city);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(sentence.find("after " + std::to_string(city.simulation.periods_max) + " periods"),
              0u);
    EXPECT_NE(sentence.find("--patience"), std::string::npos) << sentence;
  }
}

TEST(Simulation, ABatchDrivesLessToRidersThanFirstComeFirstServed) {
  City city;
  city.demand.requests_per_hour = 2500;
  city.simulation.drivers = 260;
  city.simulation.period_us = 20'000'000;
  city.simulation.decline_per_km = 0;
  const double batch = run_city(city).figure("pickup_driven_mean_m");
  city.policy = "nearest";
  EXPECT_LT(batch, run_city(city).figure("pickup_driven_mean_m"));
}

TEST(ServerFleet, SaysWhenTheServerHoldsOthers) {
  const stream::RunningServer server;
  protocol::Client client = server.client();
  stream::Fixes fixes;
  fixes.add(1'000'000, 1, 0, 0);
  ASSERT_TRUE(client.update(fixes.batch()).has_value());
  FleetIndex index({.drivers = 1, .rides = 1, .pickup_max_m = 10}, host_on(server));
  const DriverPosition position{0, {1, 1}};
  try {
    index.advance(5, {.positions = {&position, 1}, .tags = {}, .riders = {}, .riders_gone = {}});
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("holds 2 objects"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace starling::sim::city
