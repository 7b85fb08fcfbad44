// SPDX-License-Identifier: Apache-2.0
// Tests GET /v1/neighbors: thousands of random questions have the answers of GetNeighbors, and
// parameters that cannot be used are refused.
#include <charconv>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t asked_tau_us = 1000 * second_us;
constexpr std::uint64_t asked_objects = 300;
constexpr int question_count = 3400;  // in each of three spaces

std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// One random question, as parameters and as it is sent on the wire.
struct Question {
  std::string parameters;
  protocol::QuerySpec wire;

  void add(std::string_view name, const std::string& value) {
    parameters.append(parameters.empty() ? "" : "&").append(name).append("=").append(value);
  }
};

Position random_position(Space space, test::Random& random) {
  if (space == Space::wgs84) return {random.unit() * 2 - 1, random.unit() * 2 + 50, 100};
  return {random.unit() * 2000, random.unit() * 2000, space == Space::planar3 ? 7.25 : 0};
}

std::vector<std::string_view> names_of(Space space) {
  if (space == Space::wgs84) return {"lon", "lat", "alt"};
  if (space == Space::planar3) return {"x", "y", "z"};
  return {"x", "y"};
}

Question random_question(Space space, test::Random& random) {
  Question question;
  question.wire.k = static_cast<std::uint32_t>(1 + random.below(20));
  question.add("k", std::to_string(question.wire.k));
  if (random.chance(0.3)) {
    question.wire.anchor = AnchorKind::follow;
    question.wire.object = ObjectId{random.below(asked_objects + 20)};  // some do not exist
    question.add("object", std::to_string(to_number(question.wire.object)));
  } else {
    question.wire.position = random_position(space, random);
    const auto names = names_of(space);
    for (std::size_t i = 0; i < names.size(); ++i)
      question.add(names[i], text_of(question.wire.position[i]));
  }
  if (random.chance(0.3)) {
    question.wire.distance_max_m = random.unit() * (space == Space::wgs84 ? 100'000 : 500);
    question.add("distance_max_m", text_of(question.wire.distance_max_m));
  }
  if (random.chance(0.3)) {
    question.wire.age_max_us = random.between(1, 900) * second_us;
    question.add("age_max", std::to_string(question.wire.age_max_us / second_us) + "s");
  }
  if (random.chance(0.3)) {
    question.wire.tags.required = static_cast<std::uint32_t>(random.below(4));
    question.add("tags_required", std::to_string(question.wire.tags.required));
  }
  if (random.chance(0.3)) {
    question.wire.tags.forbidden = static_cast<std::uint32_t>(random.below(4));
    question.add("tags_forbidden", std::to_string(question.wire.tags.forbidden));
  }
  return question;
}

std::string random_objects(Space space, test::Random& random) {
  std::string lines;
  const auto names = names_of(space);
  for (std::uint64_t id = 0; id < asked_objects; ++id) {
    const Position position = random_position(space, random);
    lines += "{\"id\":\"" + std::to_string(id) +
             "\",\"time\":" + std::to_string(random.between(0, asked_tau_us)) +
             ",\"tags\":" + std::to_string(random.below(8));
    for (std::size_t i = 0; i < names.size(); ++i)
      lines += ",\"" + std::string(names[i]) + "\":" + text_of(position[i]);
    lines += "}\n";
  }
  return lines;
}

/// Returns the list of a JSON answer, and checks the tick.
protocol::HeldList list_of(const HttpReply& reply, simdjson::dom::parser& parser) {
  const simdjson::dom::element root = parser.parse(reply.body);
  EXPECT_EQ(root["tick"].get_uint64().value(), 1u);
  EXPECT_EQ(root["time_us"].get_int64().value(), asked_tau_us);
  protocol::HeldList list;
  for (const simdjson::dom::element neighbor : root["neighbors"]) {
    const std::string id(neighbor["id"].get_string().value());
    list.neighbors.push_back({ObjectId{std::stoull(id)}, neighbor["distance_m"].get_double()});
  }
  return list;
}

class HttpNeighbors : public testing::TestWithParam<Space> {};

TEST_P(HttpNeighbors, EqualGetNeighborsOnRandomQuestions) {
  ServerOptions options = manual_options();
  options.processor.space.space = GetParam();
  const RunningServer server(options);
  HttpClient http(server.endpoints().http);
  auto client = server.client();
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    ASSERT_EQ(
        http.post("/v1/objects", random_objects(GetParam(), random), "application/x-ndjson").status,
        200u);
    ASSERT_TRUE(client.advance_tick(asked_tau_us));
    simdjson::dom::parser parser;
    std::size_t neighbors = 0;
    for (int i = 0; i < question_count; ++i) {
      const Question question = random_question(GetParam(), random);
      const HttpReply reply = http.get("/v1/neighbors?" + question.parameters);
      ASSERT_EQ(reply.status, 200u) << question.parameters << reply.body;
      const auto expected = client.get_neighbors({.questions = {question.wire}}).value();
      ASSERT_EQ(list_of(reply, parser), expected.lists.at(0)) << question.parameters;
      neighbors += expected.lists[0].neighbors.size();
    }
    EXPECT_GT(neighbors, static_cast<std::size_t>(question_count));  // few of the lists are empty
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, HttpNeighbors,
                         testing::Values(Space::planar2, Space::planar3, Space::wgs84),
                         [](const auto& space) { return std::string(to_string(space.param)); });

class HttpQuestions : public testing::Test {
 protected:
  HttpReply ask(std::string_view parameters) {
    return http.get("/v1/neighbors?" + std::string(parameters));
  }

  RunningServer server;
  HttpClient http{server.endpoints().http};
};

TEST_F(HttpQuestions, ParametersThatCannotBeUsedAreRefused) {
  for (const auto& [parameters, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "k is missing"},
           {"k=1", "Ask for the nearest of a place, with x=NUMBER&y=NUMBER, or of an object"},
           {"k=1&x=1", "y is missing"},
           {"k=1&x=1&y=2&object=3", "Ask for the nearest of a place"},
           {"k=1&x=1&y=2&k=2", "\\\"k\\\" is given twice"},
           {"k=1&x=1&y=2&radius=3", "There is no parameter \\\"radius\\\""},
           {"k=1&lon=1&lat=2", "There is no parameter \\\"lon\\\""},
           {"k=0&x=1&y=2", "k is 0; it must be 1 to k-max (1024)"},
           {"k=1025&x=1&y=2", "k-max (1024)"},
           {"k=-1&x=1&y=2", "k must be a whole number, not \\\"-1\\\""},
           {"k=1&x=1&y=2e", "y must be a number"},
           {"k=1&x=nan&y=2", "not"},
           {"k=1&x=1e300&y=2", "Question 0"},
           {"k=1&x=1&y=2&distance_max_m=-1", "distance_max_m is negative"},
           {"k=1&x=1&y=2&age_max=30", "age_max must be a duration such as 30s"},
           {"k=1&x=1&y=2&age_max=99999999999999d", "age_max must be a duration"},
           {"k=1&x=1&y=2&tags_required=4294967296", "tags_required must be a whole number"},
           {"k=1&x=%zz&y=2", "percent-encoded"},
           {"k=1&object=%ff", "percent-encoded"},
           {"k=1&object=", "object is empty"},
           {"k&x=1&y=2", "\\\"k\\\" has no value"}}) {
    const HttpReply reply = ask(parameters);
    EXPECT_EQ(reply.status, 400u) << parameters << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(why)) << parameters;
  }
}

TEST_F(HttpQuestions, AHeadRequestHasTheFieldsAlone) {
  auto client = server.client();
  ASSERT_TRUE(client.advance_tick(1));
  const HttpReply reply = http.ask("HEAD", "/v1/neighbors?k=1&x=0&y=0", {}, {});
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(reply.fields.at("content-type"), "application/json");
}

}  // namespace
}  // namespace starling::stream
