// SPDX-License-Identifier: Apache-2.0
// Tests roads. Compares routes with a separate search over small networks. Reads SUMO's files, and
// checks that broken files are refused with a useful message.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/sim/city/roads/road_lines.hpp"
#include "starling/sim/city/roads/road_world.hpp"
#include "starling/sim/city/roads/straight_world.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/city/city_fixture.hpp"
#include "tests/support/random.hpp"

namespace starling::sim::city {
namespace {

using testing::HasSubstr;

/// A SUMO network: a ring of one-way streets around a square with sides of 100 m, and a one-way
/// diagonal from c to a.
constexpr const char* square_net = R"(<?xml version="1.0"?>
<net version="1.9">
  <edge id=":a_0" function="internal"><lane id=":a_0_0" index="0" speed="9" length="1" shape="0,0 1,1"/></edge>
  <edge id="ab" from="a" to="b"><lane id="ab_0" index="0" speed="10" length="100" shape="0,0 100,0"/></edge>
  <edge id="bc" from="b" to="c"><lane id="bc_0" index="0" speed="10" length="100" shape="100,0 100,100"/></edge>
  <edge id="cd" from="c" to="d"><lane id="cd_0" index="0" speed="10" length="100" shape="100,100 0,100"/></edge>
  <edge id="da" from="d" to="a" shape="0,100 -50,50 0,0"><lane id="da_0" index="0" speed="20" length="150" shape="0,100 0,0"/></edge>
  <edge id="ca" from="c" to="a"><lane id="ca_0" index="0" disallow="pedestrian" speed="5" length="142" shape="100,100 0,0"/></edge>
  <edge id="rail" from="a" to="c"><lane id="rail_0" index="0" allow="rail" speed="50" length="142" shape="0,0 100,100"/></edge>
  <junction id="a" type="priority" x="0" y="0"/><junction id="b" type="priority" x="100" y="0"/>
  <junction id="c" type="priority" x="100" y="100"/><junction id="d" type="priority" x="0" y="100"/>
  <connection from="ab" to="bc" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from="bc" to="cd" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from="bc" to="ca" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from="cd" to="da" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from="da" to="ab" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from="ca" to="ab" fromLane="0" toLane="0" dir="l" state="M"/>
  <connection from=":a_0" to="ab" fromLane="0" toLane="0" dir="l" state="M"/>
</net>
)";

/// A SUMO network that `scripts/make-test-network --small` made.
constexpr const char* small_network = STARLING_SOURCE_DIR "/tests/sim/city/spider.net.xml";

std::string without(std::string text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), "");
}
std::string with(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

class SumoNetwork : public testing::Test {
 protected:
  RoadNetwork read(const std::string& text, bool keeps_largest = false) {
    RoadNetwork network = read_sumo_network(directory_.write("town.net.xml", text));
    connect_network(network, keeps_largest);
    return network;
  }
  std::string error_of(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
};

TEST_F(SumoNetwork, HasTheEdgesThatTaxisMayUse) {
  const RoadNetwork network = read(square_net);
  ASSERT_EQ(network.edges.size(), 5u);
  EXPECT_EQ(network.edges[0].id, "ab");
  EXPECT_EQ(network.edges[3].shape.size(), 3u);  // the only edge with a shape of its own
  EXPECT_EQ(network.edges[3].speed_mps, 20);
  EXPECT_EQ(network.successors[1], (std::vector<std::uint32_t>{2, 4}));
}

TEST_F(SumoNetwork, LinesHaveEachRoadOnceInCentimetres) {
  RoadNetwork network = read(square_net);
  network.name = "a \"town\"";
  EXPECT_EQ(road_lines_json(network, 1000),
            "{\"name\":\"a \\\"town\\\"\",\"lines\":[[0,0,100,0],[100,0,100,100],[0,100,100,100],"
            "[0,0,-50,50,0,100],[0,0,100,100]]}\n");
  RoadEdge back = network.edges[3];
  std::ranges::reverse(back.shape);
  back.shape[1].x_m += 0.001;
  network.edges = {network.edges[3], back, network.edges[0]};
  network.edges[2].shape[1] = {100.456, -0.001};
  EXPECT_THAT(road_lines_json(network, 1000), HasSubstr("[[0,0,-50,50,0,100],[0,0,100.46,0]]"));
  EXPECT_THROW(road_lines_json(network, 40), InputError);
  network.edges.clear();
  EXPECT_THAT(road_lines_json(network, 1000), HasSubstr("\"lines\":[]"));
}

TEST_F(SumoNetwork, ALaneForTaxisOrForPassengerCarsWillDo) {
  const auto edges_where = [&](const std::string& permission) {
    return read(with(square_net, "disallow=\"pedestrian\"", permission)).edges.size();
  };
  for (const char* const open : {"disallow=\"taxi\"", "disallow=\"passenger\"",
                                 "allow=\"taxi bus\"", "allow=\"passenger\"", "allow=\"all\""})
    EXPECT_EQ(edges_where(open), 5u) << open;
  for (const char* const closed :
       {"disallow=\"passenger taxi\"", "disallow=\"all\"", "allow=\"bus bicycle\""})
    EXPECT_THAT(error_of(with(square_net, "disallow=\"pedestrian\"", closed)), "no error")
        << closed;
}

TEST_F(SumoNetwork, ConnectorsAreRoads) {
  EXPECT_EQ(read(with(square_net, "<edge id=\"bc\"", "<edge function=\"connector\" id=\"bc\""))
                .edges.size(),
            5u);
}

TEST_F(SumoNetwork, ANetworkWithoutAnyWayBackIsSaidToBeThat) {
  const std::string net = R"(<net><edge id="ab" from="a" to="b"><lane speed="9" length="9"/></edge>
<edge id="bc" from="b" to="c"><lane speed="9" length="9"/></edge>
<junction id="a" x="0" y="0"/><junction id="b" x="9" y="0"/><junction id="c" x="18" y="0"/></net>)";
  EXPECT_THAT(error_of(net), HasSubstr("no edge has a way back to itself"));
  EXPECT_THROW(read(net, true), InputError);
}

TEST_F(SumoNetwork, WaysKeepToOneWayStreetsAndSpeeds) {
  const RoadWorld world(read(square_net));
  Route route;
  const Place from = world.place_at({50, 2});
  const Place back = world.place_at({20, -1});
  EXPECT_EQ(from.offset_mm, 50'000);
  world.find_route(back, from, route);
  EXPECT_EQ(route.length_mm(), 30'000);
  EXPECT_EQ(route.time_us(), 3'000'000);
  // The diagonal from c to a (142 m at 5 m/s) takes longer than the way over d (100 m at 10 m/s,
  // then 150 m at 20 m/s).
  world.find_route(from, back, route);
  EXPECT_EQ(route.length_mm(), 50'000 + 100'000 + 100'000 + 150'000 + 20'000);
  EXPECT_EQ(route.time_us(), 5'000'000 + 10'000'000 + 10'000'000 + 7'500'000 + 2'000'000);
  std::int64_t time_us = 0;
  world.find_times({&from, 1}, back, {&time_us, 1});
  EXPECT_EQ(time_us, route.time_us());
}

TEST_F(SumoNetwork, WhatLiesBetweenAnEdgeAndItsJunctionsIsDriven) {
  const RoadNetwork network =
      read(with(square_net, "shape=\"0,100 -50,50 0,0\"", "shape=\"0,70 -50,50 0,40\""));
  const auto edge = std::ranges::find(network.edges, "da", &RoadEdge::id);
  ASSERT_NE(edge, network.edges.end());
  EXPECT_THAT(edge->length_m, testing::DoubleNear(150 + 30 + 40, 1e-9));
  EXPECT_EQ(edge->shape.front().y_m, 100);
  EXPECT_EQ(edge->shape.back().y_m, 0);
}

TEST_F(SumoNetwork, SaysWhichEdgeIsWrong) {
  const std::string net = square_net;
  EXPECT_THAT(error_of("<net><edge id="), HasSubstr("town.net.xml:1:"));
  EXPECT_THAT(error_of("<fcd-export/>"), HasSubstr("begins with <net>"));
  EXPECT_THAT(error_of("<net/>"), HasSubstr("no edge that a taxi may use"));
  EXPECT_THAT(error_of(with(net, "to=\"b\"", "to=\"x\"")),
              HasSubstr("edge 'ab' names junction 'x', which does not exist"));
  EXPECT_THAT(error_of(with(net, "speed=\"20\"", "speed=\"0\"")),
              HasSubstr("edge 'da' has a lane without a positive speed"));
  EXPECT_THAT(error_of(with(net, "length=\"150\"", "length=\"far\"")),
              HasSubstr("edge 'da' has a lane without a positive length"));
  for (const char* const length : {"1000001", "inf"})
    EXPECT_THAT(error_of(with(net, "length=\"150\"", "length=\"" + std::string(length) + "\"")),
                HasSubstr("edge 'da' is longer than 1,000 km"));
  EXPECT_THAT(error_of(with(net, "0,100 -50,50 0,0", "0,100 -9e6,50 0,0")),
              HasSubstr("edge 'da' is longer than 1,000 km"));
  EXPECT_THAT(error_of(with(net, "0,100 -50,50 0,0", "0,100 left 0,0")),
              HasSubstr("edge 'da' has a shape"));
  EXPECT_THAT(error_of(with(net, "from=\"cd\" to=\"da\"", "from=\"cd\" to=\"dx\"")),
              HasSubstr("a connection names edge 'dx'"));
  EXPECT_THAT(error_of(with(net, "from=\"cd\" to=\"da\"", "from=\"cd\" to=\"bc\"")),
              HasSubstr("from edge 'cd' to edge 'bc', which begins elsewhere"));
  EXPECT_THAT(error_of(without(net, " from=\"a\" to=\"b\"")),
              HasSubstr("edge 'ab' does not name the junctions 'from' and 'to'"));
}

// The product of the edge's length in mm and its time in us does not fit into 64 bits.
TEST_F(SumoNetwork, AnEdgeOf1000KilometresAtWalkingPaceIsTimed) {
  RoadNetwork network = read(with(with(square_net, "length=\"150\"", "length=\"1000000\""),
                                  "speed=\"20\"", "speed=\"0.1\""));
  const auto edge = static_cast<std::uint32_t>(
      std::ranges::find(network.edges, "da", &RoadEdge::id) - network.edges.begin());
  const RoadWorld world(std::move(network));
  const Place from{{}, edge, 250'000'000};
  const Place to{{}, edge, 999'999'999};
  Route route;
  world.find_route(from, to, route);
  EXPECT_NEAR(static_cast<double>(route.time_us()), 7.5e12, 2e4);
  std::int64_t time_us = 0;
  world.find_times({&from, 1}, to, {&time_us, 1});
  EXPECT_EQ(time_us, route.time_us());
}

TEST_F(SumoNetwork, ThatFallsApartSaysBetweenWhichEdges) {
  const std::string cut = without(
      square_net,
      "<connection from=\"cd\" to=\"da\" fromLane=\"0\" toLane=\"0\" dir=\"l\" state=\"M\"/>");
  EXPECT_THAT(error_of(cut), HasSubstr("no way leads from edge 'cd' to edge 'ab'"));
  EXPECT_THAT(error_of(cut), HasSubstr("3 of 5 edges (--largest-part keeps only that one)"));
  const RoadNetwork part = read(cut, true);
  ASSERT_EQ(part.edges.size(), 3u);
  EXPECT_EQ(part.edges[2].id, "ca");
}

TEST_F(SumoNetwork, WithoutConnectionsAllowsEveryTurn) {
  std::string net = square_net;
  while (net.find("<connection") != std::string::npos)
    net.replace(net.find("<connection"), 11, "<!-- --><turn");
  EXPECT_EQ(read(net).successors[1], (std::vector<std::uint32_t>{2, 4}));
}

/// Returns the least time of a way from edge `from` to edge `to`, by the Bellman-Ford method over
/// edges. It shares no code with the product.
std::int64_t least_time(const RoadNetwork& network, std::span<const std::int64_t> edge_times_us,
                        std::uint32_t from, std::uint32_t to) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
  std::vector<std::int64_t> least(network.edges.size(), far);
  least[from] = 0;
  std::int64_t best = far;
  for (std::size_t round = 0; round < network.edges.size(); ++round)
    for (std::uint32_t edge = 0; edge < network.edges.size(); ++edge)
      for (const std::uint32_t next : network.successors[edge]) {
        if (next == to) best = std::min(best, least[edge]);
        if (least[edge] < far)
          least[next] = std::min(least[next], least[edge] + edge_times_us[next]);
      }
  return best;
}

TEST(RoadWorld, FindsTheFastestWaysOfAGrid) {
  const RoadNetwork network = make_grid_network({.area = {{0, 0}, {600, 400}}, .block_m = 100});
  const RoadWorld world(network);
  std::vector<std::int64_t> times_us;
  for (const RoadEdge& edge : network.edges)
    times_us.push_back(static_cast<std::int64_t>(std::ceil(100'000'000 / edge.speed_mps)));
  for (const std::uint64_t seed : test::seeds(40)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const auto place = [&] { return world.place_at({random.unit() * 600, random.unit() * 400}); };
    const Place from = place();
    const Place to = place();
    Route route;
    world.find_route(from, to, route);
    std::int64_t time_us = 0;
    world.find_times({&from, 1}, to, {&time_us, 1});
    EXPECT_EQ(route.time_us(), time_us);
    EXPECT_LE(distance_m(route.waypoints.back().at, to.at), 0.001);
    EXPECT_GE(static_cast<double>(route.length_mm()) + 2, 1000 * distance_m(from.at, to.at));
    EXPECT_GE(static_cast<double>(route.time_us()) + 2,
              distance_m(from.at, to.at) / world.speed_max_mps() * 1e6);
    if (from.edge == to.edge && from.offset_mm <= to.offset_mm) continue;
    const auto part = [&](std::uint32_t edge, std::int64_t length_mm) {
      return static_cast<double>(times_us[edge]) * static_cast<double>(length_mm) / 100'000;
    };
    EXPECT_NEAR(static_cast<double>(route.time_us()),
                part(from.edge, 100'000 - from.offset_mm) + part(to.edge, to.offset_mm) +
                    static_cast<double>(least_time(network, times_us, from.edge, to.edge)),
                3);
    for (std::size_t i = 1; i < route.waypoints.size(); ++i) {
      EXPECT_GE(route.waypoints[i].time_us, route.waypoints[i - 1].time_us);
      EXPECT_GE(route.waypoints[i].length_mm, route.waypoints[i - 1].length_mm);
    }
  }
}

TEST(RoadWorld, ACityRunsOnAGridByEveryPolicy) {
  City city;
  const Demand demand = draw_poisson_demand(city.demand);
  const RoadWorld world(make_grid_network({.area = demand.area, .block_m = 150}));
  for (const char* const policy : {"nearest", "batch"}) {
    city.policy = policy;
    const CityRun run = run_city(city, demand, world, *make_policy(policy), embedded(1));
    EXPECT_GT(run.figure("served"), 100) << policy;
  }
}

// A policy that compares pick-up times must decide the same with lists that begin with one driver
// as with lists of all drivers.
TEST(RoadWorld, PickUpTimesDecideTheSameWhateverListsBeginWith) {
  City city;
  city.simulation.drivers = 40;
  city.pickup_max_m = 1500;
  const Demand demand = draw_poisson_demand(city.demand);
  const RoadWorld world(make_grid_network({.area = demand.area, .block_m = 150}));
  const auto run = [&](std::uint32_t k) {
    city.simulation.k = k;
    Simulation* simulation = nullptr;
    const auto policy = make_batch_time_policy(
        [&](RideIndex ride, std::span<const Candidate> list, std::span<std::int64_t> times_us) {
          simulation->find_pickup_times(ride, list, times_us);
        },
        world.speed_max_mps());
    FleetIndex index({.drivers = city.simulation.drivers,
                      .rides = static_cast<std::uint32_t>(demand.requests.size()),
                      .pickup_max_m = city.pickup_max_m},
                     embedded_host(1));
    Simulation running(city.simulation, world, demand, index, *policy);
    simulation = &running;
    while (running.step()) {
    }
    return find_figures(running);
  };
  const std::vector<Figure> all = run(1000);
  const std::vector<Figure> one = run(1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].key == "lists_widened") {
      EXPECT_EQ(all[i].value, 0);
      EXPECT_GT(one[i].value, 0);
    } else if (all[i].key != "periods_widened") {
      EXPECT_EQ(all[i].value, one[i].value) << all[i].key;
    }
  }
}

/// Makes a network with scripts/make-test-network. Returns its path, or an empty text if
/// netgenerate is not installed.
std::string make_network(const TemporaryDirectory& directory, const std::string& size) {
  if (std::system("command -v netgenerate >/dev/null 2>&1") != 0) return {};
  const std::string path = directory.path("made.net.xml");
  const std::string command =
      STARLING_SOURCE_DIR "/scripts/make-test-network " + size + " " + path + " >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return path;
}

RoadNetwork read_network(const std::string& path) {
  RoadNetwork network = read_sumo_network(path);
  connect_network(network, false);
  return network;
}

/// Checks that rides are completed, that no trip is shorter than the straight line, and that the
/// rides' kilometres add up to the fleet's.
void expect_rides(const RoadWorld& world) {
  City city;
  city.demand.area = world.area();
  const Demand demand = draw_poisson_demand(city.demand);
  const CityRun run = run_city(city, demand, world, *make_policy("batch"), embedded(1));
  EXPECT_GT(run.figure("served"), 100);
  EXPECT_EQ(run.figure("served") + run.figure("cancelled"), run.figure("requests"));
  std::int64_t pickup_mm = 0;
  std::int64_t trip_mm = 0;
  for (const Ride& ride : run.rides) {
    if (ride.state != RideState::dropped_off) continue;
    EXPECT_GE(static_cast<double>(ride.trip_mm) + 2,
              1000 * distance_m(ride.pickup.at, ride.dropoff.at));
    pickup_mm += ride.pickup_mm;
    trip_mm += ride.trip_mm;
  }
  EXPECT_NEAR(run.figure("occupied_km"), static_cast<double>(trip_mm) / 1e6, 1e-3);
  EXPECT_NEAR(run.figure("empty_pickup_km"), static_cast<double>(pickup_mm) / 1e6, 1e-3);
}

TEST(RoadWorld, ASmallNetworkOfNetgenerateCarriesACity) {
  const RoadNetwork network = read_network(small_network);
  EXPECT_EQ(network.edges.size(), 60u);
  expect_rides(RoadWorld(network));
}

TEST(RoadWorld, TheSmallNetworkIsWhatNetgenerateMakes) {
  const TemporaryDirectory directory;
  const std::string path = make_network(directory, "--small");
  if (path.empty()) GTEST_SKIP() << "no netgenerate here; the Debian package sumo has it";
  const RoadNetwork made = read_network(path);
  const RoadNetwork kept = read_network(small_network);
  ASSERT_EQ(made.edges.size(), kept.edges.size());
  for (std::size_t i = 0; i < kept.edges.size(); ++i) {
    EXPECT_EQ(made.edges[i].id, kept.edges[i].id);
    EXPECT_EQ(made.edges[i].length_m, kept.edges[i].length_m) << kept.edges[i].id;
  }
}

// Makes a network with the installed netgenerate and runs a city on it.
TEST(RoadWorld, ANetworkOfNetgenerateCarriesACity) {
  const TemporaryDirectory directory;
  const std::string path = make_network(directory, "");
  if (path.empty()) GTEST_SKIP() << "no netgenerate here; the Debian package sumo has it";
  const RoadNetwork network = read_network(path);
  EXPECT_GT(network.edges.size(), 200u);
  expect_rides(RoadWorld(network));
}

}  // namespace
}  // namespace starling::sim::city
