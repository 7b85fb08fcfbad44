// SPDX-License-Identifier: Apache-2.0
// Asks 10,000 random questions over HTTP in each space, with parameters or with a body. Each answer
// must have the ticks, ids, distances, votes and means of GetNeighbors, bit for bit.
#include <bit>
#include <charconv>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "starling/knn/words/metric.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t asked_tau_us = 1000 * second_us;
constexpr std::uint64_t asked_objects = 300;

template <class Number>
std::string text_of(Number number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// One random question in three forms: as parameters, as a body, and as a message on the wire.
struct Question {
  std::string parameters;
  std::string body;
  protocol::QuerySpec wire;

  void add(std::string_view name, const std::string& parameter, const std::string& json) {
    parameters.append(parameters.empty() ? "" : "&").append(name).append("=").append(parameter);
    body.append(body.empty() ? "{\"" : ",\"").append(name).append("\":").append(json);
  }
  void add(std::string_view name, const std::string& number) { add(name, number, number); }
  void add_text(std::string_view name, const std::string& text) {
    add(name, text, "\"" + text + "\"");
  }
};

Position random_position(Space space, test::Random& random) {
  if (space == Space::wgs84) return {random.unit() * 2 - 1, random.unit() * 2 + 50, 100};
  return {random.unit() * 2000, random.unit() * 2000, space == Space::planar3 ? 7.25 : 0};
}

std::vector<float> random_vector(const SpaceOptions& space, test::Random& random) {
  std::vector<float> vector(space.dimension);
  for (float& component : vector) {
    component = static_cast<float>(random.normal());
    if (!allows_negatives(space.metric)) component = std::abs(component);
  }
  return vector;
}

std::string text_of(const std::vector<float>& vector) {
  std::string text;
  for (const float component : vector)
    text.append(text.empty() ? "" : ",").append(text_of(component));
  return text;
}

std::vector<std::string_view> names_of(Space space) {
  if (space == Space::wgs84) return {"lon", "lat", "alt"};
  if (space == Space::planar3) return {"x", "y", "z"};
  return {"x", "y"};
}

void add_anchor(const SpaceOptions& space, test::Random& random, Question& question) {
  if (random.chance(0.3)) {
    question.wire.anchor = AnchorKind::follow;
    question.wire.object = ObjectId{random.below(asked_objects + 20)};  // some do not exist
    question.add_text("object", std::to_string(to_number(question.wire.object)));
  } else if (space.is_vector()) {
    question.wire.vector = random_vector(space, random);
    const std::string text = text_of(question.wire.vector);
    question.add("vector", text, "[" + text + "]");
  } else {
    question.wire.position = random_position(space.space, random);
    const auto names = names_of(space.space);
    for (std::size_t i = 0; i < names.size(); ++i)
      question.add(names[i], text_of(question.wire.position[i]));
  }
}

double random_distance(const SpaceOptions& space, test::Random& random) {
  if (space.metric == Metric::inner_product) return random.unit() * 8 - 6;
  return random.unit() * (space.is_vector() ? 3 : space.space == Space::wgs84 ? 100'000 : 500);
}

void add_filter(const SpaceOptions& space, test::Random& random, Question& question) {
  if (random.chance(0.3)) {
    question.wire.distance_max_m = random_distance(space, random);
    question.add(space.is_vector() ? "distance_max" : "distance_max_m",
                 text_of(question.wire.distance_max_m));
  }
  if (random.chance(0.3)) {
    question.wire.age_max_us = random.between(1, 900) * second_us;
    question.add_text("age_max", std::to_string(question.wire.age_max_us / second_us) + "s");
  }
  if (random.chance(0.3)) {
    question.wire.tags.required = static_cast<std::uint32_t>(random.below(4));
    question.add("tags_required", std::to_string(question.wire.tags.required));
  }
  if (random.chance(0.3)) {
    question.wire.tags.forbidden = static_cast<std::uint32_t>(random.below(4));
    question.add("tags_forbidden", std::to_string(question.wire.tags.forbidden));
  }
}

Question random_question(const SpaceOptions& space, test::Random& random) {
  Question question;
  question.wire.k = static_cast<std::uint32_t>(1 + random.below(20));
  question.add("k", std::to_string(question.wire.k));
  add_anchor(space, random, question);
  add_filter(space, random, question);
  if (space.is_vector() && random.chance(0.5)) {
    question.wire.vote = true;
    question.add("vote", "true");
  }
  if (space.is_vector() && random.chance(0.5)) {
    const bool is_uniform = space.metric == Metric::inner_product || random.chance(0.5);
    question.wire.regress = is_uniform ? RegressionWeights::uniform : RegressionWeights::distance;
    question.add_text("regress", is_uniform ? "uniform" : "distance");
  }
  question.body += "}";
  return question;
}

std::string random_objects(const SpaceOptions& space, test::Random& random) {
  std::string lines;
  const auto names = names_of(space.space);
  for (std::uint64_t id = 0; id < asked_objects; ++id) {
    lines += "{\"id\":\"" + std::to_string(id) +
             "\",\"time\":" + std::to_string(random.between(0, asked_tau_us)) +
             ",\"tags\":" + std::to_string(random.below(8));
    if (space.is_vector()) {
      lines += ",\"vector\":[" + text_of(random_vector(space, random)) + "]";
      if (random.chance(0.5)) lines += ",\"label\":" + std::to_string(random.between(-2, 2));
      if (random.chance(0.5)) lines += ",\"value\":" + text_of(random.normal());
    } else {
      const Position position = random_position(space.space, random);
      for (std::size_t i = 0; i < names.size(); ++i)
        lines += ",\"" + std::string(names[i]) + "\":" + text_of(position[i]);
    }
    lines += "}\n";
  }
  return lines;
}

/// The contents of an answer, with the bits of its numbers.
struct Said {
  bool is_unknown = false;  ///< the tick does not have the object of the question
  std::vector<std::pair<std::uint64_t, std::uint64_t>> neighbors;  ///< id and distance
  Label vote = no_label;
  std::optional<std::uint64_t> mean;
  bool operator==(const Said&) const = default;
};

std::uint64_t bits_of(double number) {
  return std::bit_cast<std::uint64_t>(number);
}

Said said_by(const protocol::NeighborAnswers& answers) {
  const protocol::HeldList& list = answers.lists.at(0);
  Said said;
  said.is_unknown = !answers.unknown.empty();
  for (const protocol::HeldNeighbor& each : list.neighbors)
    said.neighbors.emplace_back(to_number(each.object), bits_of(each.distance_m));
  said.vote = list.vote;
  if (list.mean) said.mean = bits_of(*list.mean);
  return said;
}

/// Reads a JSON answer, and checks the tick.
Said said_by(const HttpReply& reply, const Question& question, bool is_vector,
             simdjson::dom::parser& parser) {
  const simdjson::dom::element root = parser.parse(reply.body);
  EXPECT_EQ(root["tick"].get_uint64().value(), 1u);
  EXPECT_EQ(root["time_us"].get_int64().value(), asked_tau_us);
  Said said;
  said.is_unknown = reply.status == 404;
  if (said.is_unknown) {
    EXPECT_EQ(root["code"].get_string().value(), "unknown_object");
    return said;
  }
  EXPECT_EQ(reply.status, 200u);
  for (const simdjson::dom::element neighbor : root["neighbors"]) {
    const std::string id(neighbor["id"].get_string().value());
    const double distance = neighbor[is_vector ? "distance" : "distance_m"].get_double();
    said.neighbors.emplace_back(std::stoull(id), bits_of(distance));
  }
  EXPECT_EQ(root["vote"].error() == simdjson::SUCCESS, question.wire.vote);
  EXPECT_EQ(root["mean"].error() == simdjson::SUCCESS,
            question.wire.regress != RegressionWeights::none);
  if (std::int64_t vote = 0; !root["vote"].get(vote)) said.vote = vote;
  if (double mean = 0; !root["mean"].get(mean)) said.mean = bits_of(mean);
  return said;
}

class HttpRandomQuestions : public testing::TestWithParam<SpaceOptions> {};

TEST_P(HttpRandomQuestions, HaveTheAnswersOfGetNeighbors) {
  const SpaceOptions& space = GetParam();
  const std::uint64_t question_count = test::number_in_environment("STARLING_QUESTIONS", 2000);
  ServerOptions options = manual_options();
  options.processor.space = space;
  const RunningServer server(options);
  HttpClient http(server.endpoints().http);
  auto client = server.client();
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const HttpReply put =
        http.post("/v1/objects", random_objects(space, random), "application/x-ndjson");
    ASSERT_EQ(put.body, "{\"accepted\":" + std::to_string(asked_objects) +
                            ",\"late\":0,\"rejected\":0,\"reasons\":[]}\n");
    ASSERT_TRUE(client.advance_tick(asked_tau_us));
    simdjson::dom::parser parser;
    std::size_t neighbors = 0;
    std::size_t unknown = 0;
    for (std::uint64_t i = 0; i < question_count; ++i) {
      const Question question = random_question(space, random);
      const HttpReply reply = random.chance(0.5) ? http.get("/v1/neighbors?" + question.parameters)
                                                 : http.post("/v1/neighbors", question.body);
      const auto expected = client.get_neighbors({.questions = {question.wire}}).value();
      ASSERT_EQ(said_by(reply, question, space.is_vector(), parser), said_by(expected))
          << question.parameters << reply.body;
      neighbors += expected.lists[0].neighbors.size();
      unknown += expected.unknown.size();
    }
    EXPECT_GT(unknown, 0u);
    EXPECT_GT(neighbors, question_count);  // few of the lists are empty
  }
}

SpaceOptions vector_space(Metric metric) {
  return {.space = Space::vector, .dimension = 7, .metric = metric};
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, HttpRandomQuestions,
    testing::Values(SpaceOptions{.space = Space::planar2}, SpaceOptions{.space = Space::planar3},
                    SpaceOptions{.space = Space::wgs84}, vector_space(Metric::l2),
                    vector_space(Metric::inner_product), vector_space(Metric::hellinger)),
    [](const auto& space) {
      std::string name(space.param.is_vector() ? name_of(space.param.metric)
                                               : to_string(space.param.space));
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace starling::stream
