// SPDX-License-Identifier: Apache-2.0
// Passes distances that a server reported back to it as limits, over the wire and over HTTP. Each
// limit keeps its neighbour, and the float64 below the limit does not.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "starling/knn/words/lattice.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/limit_pairs.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint32_t list_length = 5;
constexpr std::uint64_t object_count = 500;

/// A server with objects at distances from one unit to the whole lattice.
class DistanceLimits : public testing::TestWithParam<SpaceOptions> {
 protected:
  void SetUp() override {
    const auto components = static_cast<std::uint8_t>(dimensions(space().space));
    std::vector<std::uint64_t> ids;
    std::vector<double> coordinates;
    for (std::uint64_t id = 1; id <= object_count; ++id) {
      ids.push_back(id);
      const Position position = random_position();
      coordinates.insert(coordinates.end(), position.begin(), position.begin() + components);
    }
    const std::vector<std::int64_t> times_us(ids.size(), 1);
    const protocol::UpdateBatch batch{
        .ids = ids, .times_us = times_us, .components = components, .coordinates = coordinates};
    ASSERT_EQ(client.update(batch).value().accepted, object_count);
    ASSERT_TRUE(client.advance_tick(1));
  }

  const SpaceOptions& space() const { return GetParam(); }

  Position random_position() {
    const auto signed_unit = [&] { return 2 * random.unit() - 1; };
    if (space().space == Space::wgs84) {
      const double extent = std::exp2(-20 * random.unit());
      return {180 * extent * signed_unit(), 90 * extent * signed_unit(), 1000 * signed_unit()};
    }
    const double extent_m = std::exp2(29.9 * random.unit()) * space().resolution_m;
    return {extent_m * signed_unit(), extent_m * signed_unit(),
            space().space == Space::planar3 ? extent_m * signed_unit() : 0};
  }

  protocol::QuerySpec random_question() {
    return {.k = list_length, .position = random_position()};
  }

  static ServerOptions options_with(const SpaceOptions& space) {
    ServerOptions options = manual_options();
    options.processor.space = space;
    return options;
  }

  test::Random random{test::seeds(1).front()};
  RunningServer server{options_with(GetParam())};
  protocol::Client client = server.client();
};

using Neighbors = std::vector<protocol::HeldNeighbor>;

/// Returns the neighbours whose distance is at most the limit.
Neighbors within(const Neighbors& all, double limit_m) {
  Neighbors kept;
  std::ranges::copy_if(all, std::back_inserter(kept), [&](const protocol::HeldNeighbor& each) {
    return each.distance_m <= limit_m;
  });
  return kept;
}

TEST_P(DistanceLimits, OnTheWireKeepTheNeighbourThatWasReportedAtThem) {
  std::uint64_t pairs = 0;
  while (pairs < test::limit_pairs(50'000)) {
    protocol::GetNeighbors places;
    for (int i = 0; i < 100; ++i) places.questions.push_back(random_question());
    const auto reported = client.get_neighbors(places).value();
    protocol::GetNeighbors limited;
    std::vector<Neighbors> expected;
    for (std::size_t i = 0; i < places.questions.size(); ++i)
      for (const protocol::HeldNeighbor& neighbor : reported.lists[i].neighbors)
        for (const double limit_m : {neighbor.distance_m, std::nextafter(neighbor.distance_m, 0)}) {
          limited.questions.push_back(places.questions[i]);
          limited.questions.back().distance_max_m = limit_m;
          expected.push_back(within(reported.lists[i].neighbors, limit_m));
        }
    const auto kept = client.get_neighbors(limited).value();
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(kept.lists[i].neighbors, expected[i]) << limited.questions[i].distance_max_m;
    pairs += expected.size() / 2;
  }
}

template <class Number>
std::string text_of(Number number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// The texts of a neighbour in an answer.
struct Told {
  std::string id;
  std::string distance_m;
};

/// Returns the neighbours in an answer of /v1/neighbors.
std::vector<Told> told_by(std::string_view body) {
  std::vector<Told> told;
  const auto text_behind = [&](std::string_view key, std::string_view end) {
    body.remove_prefix(body.find(key) + key.size());
    return std::string(body.substr(0, body.find_first_of(end)));
  };
  while (body.find("{\"id\":\"") != std::string_view::npos) {
    const std::string id = text_behind("{\"id\":\"", "\"");
    told.push_back({id, text_behind("\"distance_m\":", ",}")});
  }
  return told;
}

TEST_P(DistanceLimits, OverHttpKeepTheNeighbourWhoseTextTheyAre) {
  HttpClient http(server.endpoints().http);
  const auto ask = [&](const Position& position, const std::string& limit, bool in_body) {
    static constexpr std::string_view planar[] = {"x", "y", "z"};
    static constexpr std::string_view on_earth[] = {"lon", "lat", "alt"};
    std::string body = "{\"k\":" + std::to_string(list_length);
    std::string parameters = "k=" + std::to_string(list_length);
    const auto add = [&](std::string_view name, const std::string& number) {
      body.append(",\"").append(name).append("\":").append(number);
      parameters.append("&").append(name).append("=").append(number);
    };
    for (int axis = 0; axis < dimensions(space().space); ++axis)
      add((space().space == Space::wgs84 ? on_earth : planar)[axis],
          text_of(position[static_cast<std::size_t>(axis)]));
    if (!limit.empty()) add("distance_max_m", limit);
    const HttpReply reply =
        in_body ? http.post("/v1/neighbors", body + "}") : http.get("/v1/neighbors?" + parameters);
    EXPECT_EQ(reply.status, 200u) << reply.body;
    return told_by(reply.body);
  };
  std::uint64_t pairs = 0;
  while (pairs < test::limit_pairs(1000)) {
    const Position position = random_position();
    const std::vector<Told> reported = ask(position, "", false);
    ASSERT_EQ(reported.size(), list_length);
    for (const Told& neighbor : reported) {
      const std::string below = text_of(std::nextafter(std::stod(neighbor.distance_m), 0));
      for (const std::string& limit : {neighbor.distance_m, below}) {
        std::string expected;
        for (const Told& each : reported)
          if (std::stod(each.distance_m) <= std::stod(limit)) expected += each.id + " ";
        std::string kept;
        for (const Told& each : ask(position, limit, random.chance(0.5))) kept += each.id + " ";
        ASSERT_EQ(kept, expected) << limit;
      }
      ++pairs;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, DistanceLimits,
    testing::Values(SpaceOptions{.space = Space::planar2},
                    SpaceOptions{.space = Space::planar2, .resolution_m = 0.3},
                    SpaceOptions{.space = Space::planar3, .resolution_m = 0.001},
                    SpaceOptions{.space = Space::wgs84},
                    SpaceOptions{.space = Space::wgs84, .resolution_m = 0.006}),
    [](const auto& space) {
      std::string name =
          std::string(to_string(space.param.space)) + "_" + text_of(space.param.resolution_m);
      std::ranges::replace(name, '.', '_');
      return name;
    });

}  // namespace
}  // namespace starling::stream
