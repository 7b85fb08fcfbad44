// SPDX-License-Identifier: Apache-2.0
// The route of one-shot questions. A question is one GetNeighbors, so its answer is that of the
// wire, with names.
#include <array>
#include <utility>
#include <variant>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/json_text.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/http/value_text.hpp"

namespace starling::stream {

namespace {

std::vector<std::string_view> parameters_of(Space space) {
  std::vector<std::string_view> known{"k"};
  for (const std::string_view name : coordinate_names(space)) known.push_back(name);
  known.insert(known.end(),
               {"object", "distance_max_m", "age_max", "tags_required", "tags_forbidden"});
  return known;
}

std::string example_of(Space space) {
  std::string example;
  for (const std::string_view name : coordinate_names(space))
    example.append(example.empty() ? "" : "&").append(name).append("=NUMBER");
  return example;
}

double coordinate(const Parameters& parameters, std::string_view name, bool may_lack) {
  const auto value = parameters.get<double>(name, parse_double, "a number");
  if (!value && !may_lack)
    throw BadRequest{std::string(name) + " is missing; give all coordinates of the place."};
  return value.value_or(0);
}

void set_anchor(const Parameters& parameters, const protocol::Limits& limits,
                protocol::QuerySpec& question) {
  const auto names = coordinate_names(limits.space);
  bool has_place = false;
  for (const std::string_view name : names) has_place = has_place || parameters.has(name);
  const std::string* object = parameters.find("object");
  if ((object != nullptr) == has_place)
    throw BadRequest{"Ask for the nearest of a place, with " + example_of(limits.space) +
                     ", or of an object, with object=ID."};
  if (object != nullptr) {
    question.anchor = AnchorKind::follow;
    question.object = read_object_id("object", *object, limits);
    return;
  }
  const bool may_lack = limits.space == Space::wgs84;
  question.position[0] = coordinate(parameters, names[0], false);
  question.position[1] = coordinate(parameters, names[1], false);
  if (names.size() > 2) question.position[2] = coordinate(parameters, names[2], may_lack);
}

protocol::QuerySpec question_of(std::string_view query, const protocol::Limits& limits) {
  const auto known = parameters_of(limits.space);
  const Parameters parameters(query, known);
  constexpr std::string_view tags = "a whole number from 0 to 4294967295";
  protocol::QuerySpec question;
  const auto k = parameters.get<std::uint32_t>("k", parse_uint32, "a whole number");
  if (!k) throw BadRequest{"k is missing; say how many neighbours you want, such as k=5."};
  question.k = *k;
  set_anchor(parameters, limits, question);
  question.distance_max_m =
      parameters.get<double>("distance_max_m", parse_double, "a number of metres")
          .value_or(protocol::QuerySpec::any_distance_m);
  question.age_max_us =
      parameters.get<std::int64_t>("age_max", parse_duration_us, "a duration such as 30s")
          .value_or(Filter::any_age);
  question.tags.required =
      parameters.get<std::uint32_t>("tags_required", parse_uint32, tags).value_or(0);
  question.tags.forbidden =
      parameters.get<std::uint32_t>("tags_forbidden", parse_uint32, tags).value_or(0);
  return question;
}

HttpAnswer answer_of(const protocol::Neighbors& neighbors,
                     const std::function<std::string_view(ObjectId)>& name_of) {
  JsonText json;
  json.begin_object().key("tick").number(to_number(neighbors.head.tick));
  json.key("time_us").number(neighbors.head.tau_us).key("neighbors").begin_array();
  for (std::size_t i = 0; i < neighbors.lists.object_ids.size(); ++i) {
    const std::uint64_t id = neighbors.lists.object_ids[i];
    json.begin_object().key("id").text(std::to_string(id));
    json.key("distance_m").number(neighbors.lists.distances_m[i]);
    const std::string_view name = name_of(ObjectId{id});
    if (!name.empty()) json.key("name").text(name);
    json.end_object();
  }
  json.end_array().end_object();
  return json_answer(json);
}

}  // namespace

void HttpApi::get_neighbors(HttpCall call) {
  refuse_vectors("/v1/neighbors");
  gateway_.send(
      [question = question_of(call.query, parts_.limits)] {
        return protocol::GetNeighbors{.questions = {question}};
      },
      [this, respond = call.respond](const protocol::ReplyBody& reply) {
        const auto* neighbors = std::get_if<protocol::Neighbors>(&reply);
        if (neighbors == nullptr) return respond(refusal_answer(reply));
        respond(answer_of(*neighbors, parts_.name_of));
      });
}

}  // namespace starling::stream
