// SPDX-License-Identifier: Apache-2.0
// The routes of one-shot questions. A question is sent as one GetNeighbors, and names are added to
// the answer. For GeoJSON, a GetObjects for each page of neighbours brings their positions.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/media_types.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/json_reader.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

std::vector<std::string_view> question_fields(Space space) {
  std::vector<std::string_view> known{"k"};
  for (const std::string_view name : place_names(space)) known.push_back(name);
  known.insert(known.end(), {"object", distance_max_name(space), "age_max", "tags_required",
                             "tags_forbidden", "at"});
  if (space == Space::vector) known.insert(known.end(), {"vote", "regress"});
  return known;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  const auto time_us = parse_int64(text);
  return time_us ? time_us : parse_iso_time_us(text);
}

/// Gives Parameters the functions of JsonFields, so that question_of() can read both.
class QuestionParameters {
 public:
  explicit QuestionParameters(const Parameters& parameters) : parameters_(parameters) {}

  bool has(std::string_view name) const { return parameters_.has(name); }
  double number(std::string_view name) const { return get(name, parse_double, "a number"); }
  std::uint32_t uint32(std::string_view name) const {
    const bool is_k = name == "k";
    return get(name, parse_uint32, is_k ? "a whole number" : "a whole number from 0 to 4294967295");
  }
  bool boolean(std::string_view name) const { return get(name, parse_bool, "true or false"); }
  std::int64_t duration_us(std::string_view name) const {
    return get(name, parse_duration_us, "a duration such as 30s");
  }
  std::int64_t time_us(std::string_view name) const {
    return get(name, parse_time,
               "an ISO 8601 time with a zone, such as 2026-03-01T12:00:00Z, or whole microseconds "
               "since 1970");
  }
  std::string_view text(std::string_view name) const { return *parameters_.find(name); }
  std::vector<float> components(std::string_view name, std::uint32_t dimension) const {
    auto components =
        get(name, parse_components, "numbers within the range of float32, such as 0.5,-1");
    if (components.size() != dimension)
      refuse(name, "must have " + std::to_string(dimension) + " components, not " +
                       std::to_string(components.size()));
    return components;
  }

  [[noreturn]] void refuse(std::string_view name, std::string_view is) const {
    throw BadRequest{std::string(name) + " " + std::string(is) + "."};
  }

 private:
  template <class Value>
  Value get(std::string_view name, std::optional<Value> (*parse)(std::string_view),
            std::string_view what) const {
    auto value = parameters_.get<Value>(name, parse, what);
    if (!value) refuse(name, "is missing; give all coordinates of the place");
    return std::move(*value);
  }

  const Parameters& parameters_;
};

std::string example_of(Space space) {
  if (space == Space::vector) return "vector=NUMBER,NUMBER,...";
  std::string example;
  for (const std::string_view name : coordinate_names(space))
    example.append(example.empty() ? "" : "&").append(name).append("=NUMBER");
  return example;
}

template <class Fields>
void read_anchor(const Fields& fields, const protocol::Limits& limits,
                 protocol::QuerySpec& question) {
  bool has_place = false;
  for (const std::string_view name : place_names(limits.space))
    has_place = has_place || fields.has(name);
  if (fields.has("object") == has_place)
    throw BadRequest{"Ask for the nearest of a place, with " + example_of(limits.space) +
                     ", or of an object, with object=ID."};
  if (!has_place) {
    question.anchor = AnchorKind::follow;
    question.object = read_object_id("object", fields.text("object"), limits);
  } else if (limits.space == Space::vector) {
    question.vector = fields.components("vector", limits.dimension);
  } else {
    question.position = read_position(fields, limits.space);
  }
}

/// Fields is JsonFields or QuestionParameters.
template <class Fields>
protocol::GetNeighbors question_of(const Fields& fields, const protocol::Limits& limits) {
  protocol::GetNeighbors asked;
  protocol::QuerySpec& question = asked.questions.emplace_back();
  if (!fields.has("k"))
    throw BadRequest{"k is missing; say how many neighbours you want, such as k=5."};
  question.k = fields.uint32("k");
  read_anchor(fields, limits, question);
  const std::string_view distance_max = distance_max_name(limits.space);
  if (fields.has(distance_max)) question.distance_max_m = fields.number(distance_max);
  if (fields.has("age_max")) question.age_max_us = fields.duration_us("age_max");
  if (fields.has("tags_required")) question.tags.required = fields.uint32("tags_required");
  if (fields.has("tags_forbidden")) question.tags.forbidden = fields.uint32("tags_forbidden");
  if (limits.space == Space::vector) read_predictions(fields, question);
  if (fields.has("at")) asked.at_us = fields.time_us("at");
  return asked;
}

using NameOf = std::function<std::string_view(ObjectId)>;

HttpAnswer neighbors_answer(const protocol::Neighbors& neighbors, const protocol::Limits& limits,
                            const NameOf& name_of) {
  const bool is_vector = limits.space == Space::vector;
  const protocol::ListChunk& lists = neighbors.lists;
  JsonText json;
  json.begin_object().key("tick").number(to_number(neighbors.head.tick));
  json.key("time_us").number(neighbors.head.tau_us);
  if (is_vector) json.key("metric").text(starling::name_of(limits.metric));
  json.key("neighbors").begin_array();
  for (std::size_t i = 0; i < lists.object_ids.size(); ++i) {
    const std::uint64_t id = lists.object_ids[i];
    json.begin_object().key("id").text(std::to_string(id));
    json.key(is_vector ? "distance" : "distance_m").number(lists.distances_m[i]);
    const std::string_view name = name_of(ObjectId{id});
    if (!name.empty()) json.key("name").text(name);
    json.end_object();
  }
  json.end_array();
  if (!lists.votes.empty()) {
    json.key("vote");
    lists.votes[0] == no_label ? json.null() : json.number(lists.votes[0]);
  }
  if (!lists.means.empty()) json.number("mean", lists.means[0]);
  json.end_object();
  return json_answer(json);
}

/// Answers a question with GeoJSON. Asks for the positions of the neighbours page by page.
class GeoNeighbors : public std::enable_shared_from_this<GeoNeighbors> {
 public:
  GeoNeighbors(WireClient client, std::size_t page_rows_max, const protocol::Neighbors& neighbors,
               HttpRespond respond)
      : client_(std::move(client)),
        page_rows_max_(page_rows_max),
        head_(neighbors.head),
        ids_(neighbors.lists.object_ids.begin(), neighbors.lists.object_ids.end()),
        distances_m_(neighbors.lists.distances_m.begin(), neighbors.lists.distances_m.end()),
        respond_(std::move(respond)) {
    json_.begin_object().key("type").text("FeatureCollection").key("features").begin_array();
  }

  void ask_next() {
    if (written_ == ids_.size()) return finish();
    client_.send(
        [self = shared_from_this()] {
          return protocol::GetObjects{.object_ids = self->next_ids()};
        },
        [self = shared_from_this()](const protocol::ReplyBody& reply) {
          const auto* objects = std::get_if<protocol::Objects>(&reply);
          if (objects == nullptr) return self->respond_(refusal_answer(reply));
          self->append(*objects);
          self->ask_next();
        });
  }

 private:
  std::span<const std::uint64_t> next_ids() const {
    const auto rest = std::span(ids_).subspan(written_);
    return rest.first(std::min(rest.size(), page_rows_max_));
  }

  /// `objects` has the objects of next_ids() that are alive, in the same order.
  void append(const protocol::Objects& objects) {
    std::size_t row = 0;
    for (const std::uint64_t id : next_ids()) {
      GeoFeature feature{.id = id};
      if (row < objects.ids.size() && objects.ids[row] == id) feature = feature_of(objects, row++);
      feature.distance_m = distances_m_[written_++];
      append_feature(json_, feature);
    }
  }

  void finish() {
    json_.end_array().key("tick").number(to_number(head_.tick));
    json_.key("time_us").number(head_.tau_us).end_object();
    respond_(geo_json_answer(json_));
  }

  WireClient client_;
  std::size_t page_rows_max_;
  protocol::NeighborsHead head_;
  std::vector<std::uint64_t> ids_;
  std::vector<double> distances_m_;
  HttpRespond respond_;
  JsonText json_;
  std::size_t written_ = 0;  ///< number of neighbours written so far
};

}  // namespace

void HttpApi::get_neighbors(HttpCall call) {
  const Parameters parameters(call.query, question_fields(parts_.limits.space));
  ask(question_of(QuestionParameters(parameters), parts_.limits), std::move(call));
}

void HttpApi::post_neighbors(HttpCall call) {
  const Parameters none(call.query, {});
  JsonReader reader;
  const auto known = question_fields(parts_.limits.space);
  const JsonFields fields(reader.parse_short(call.request.body, parts_.limits.dimension), known,
                          "The question");
  ask(question_of(fields, parts_.limits), std::move(call));
}

void HttpApi::ask(protocol::GetNeighbors question, HttpCall call) {
  const bool is_geo = wants_geo_json(call.request.head.accept, parts_.limits.space);
  if (is_geo && question.at_us)
    throw BadRequest{
        "at has no GeoJSON: the server would have to give the positions of now; ask for "
        "application/json."};
  const WireClient client = client_of(call);
  client.send(
      [question = std::move(question)] { return question; },
      [this, client, is_geo, respond = std::move(call.respond)](const protocol::ReplyBody& reply) {
        const auto* neighbors = std::get_if<protocol::Neighbors>(&reply);
        if (neighbors == nullptr) return respond(refusal_answer(reply));
        if (!neighbors->unknown.empty())
          return respond(
              unknown_object_answer(to_number(neighbors->head.tick), neighbors->head.tau_us));
        if (!is_geo) return respond(neighbors_answer(*neighbors, parts_.limits, parts_.name_of));
        const std::size_t rows_max = std::max<std::size_t>(parts_.limits.page_rows_max, 1);
        std::make_shared<GeoNeighbors>(client, rows_max, *neighbors, respond)->ask_next();
      });
}

}  // namespace starling::stream
