// SPDX-License-Identifier: Apache-2.0
// The routes that list, put and remove streams, and put and remove their standing queries.
// api_events.cpp has the routes of a stream's lists and events.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "starling/knn/base/json_text.hpp"
#include "starling/knn/words/report_names.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/json_reader.hpp"

namespace starling::stream {

namespace {

constexpr auto column_names = std::to_array<std::pair<std::string_view, bool ReportWith::*>>(
    {{"distance", &ReportWith::distance},
     {"position", &ReportWith::position},
     {"tags", &ReportWith::tags}});
constexpr std::int64_t us_per_ms = 1000;

ReportOn read_on(const JsonFields& fields) {
  if (!fields.has("on")) return ReportOn::order;
  if (const auto on = report_on_named(fields.text("on"))) return *on;
  fields.refuse("on", "must be \"membership\", \"order\" or \"distance\"");
}

ReportWith read_with(const JsonFields& fields) {
  ReportWith with;
  if (!fields.has("with")) return with;
  for (const auto& [name, column] : column_names) with.*column = false;
  for (const JsonElement element : fields.array("with")) {
    bool ReportWith::*found = nullptr;
    std::string_view text;
    if (!element.get(text))
      for (const auto& [name, column] : column_names)
        if (name == text) found = column;
    if (found == nullptr)
      fields.refuse("with", "must be an array of \"distance\", \"position\" and \"tags\"");
    with.*found = true;
  }
  return with;
}

/// Stream is a StreamDefinition or a protocol::StreamInfo.
template <class Stream>
void append(JsonText& json, const Stream& stream) {
  json.begin_object().key("name").text(stream.name);
  json.key("on").text(name_of(stream.on));
  json.key("with").begin_array();
  for (const auto& [name, column] : column_names)
    if (stream.with.*column) json.text(name);
  json.end_array().end_object();
}

/// Answers with all streams. Asks for them page by page, so that no turn of the loop is long.
class StreamList : public std::enable_shared_from_this<StreamList> {
 public:
  StreamList(WireClient client, const protocol::Limits& limits, HttpRespond respond)
      : client_(std::move(client)),
        rows_max_(std::min(limits.page_rows_max, rows_at_once)),
        respond_(std::move(respond)) {
    json_.begin_object().key("streams").begin_array();
  }

  void ask(std::uint64_t page) {
    client_.send(
        [page, rows_max = rows_max_] {
          return protocol::ListStreams{.page = page, .rows_max = rows_max};
        },
        [self = shared_from_this()](const protocol::ReplyBody& reply) {
          const auto* streams = std::get_if<protocol::Streams>(&reply);
          if (streams == nullptr) return self->respond_(refusal_answer(reply));
          for (const protocol::StreamInfo& stream : streams->streams) append(self->json_, stream);
          if (streams->next_page != 0) return self->ask(streams->next_page);
          self->json_.end_array().end_object();
          self->respond_(json_answer(self->json_));
        });
  }

 private:
  static constexpr std::uint32_t rows_at_once = 512;  // take 0.3 ms, with the longest names

  WireClient client_;
  std::uint32_t rows_max_;  ///< the most rows of a page
  HttpRespond respond_;
  JsonText json_;
};

std::vector<std::string_view> query_fields(Space space) {
  std::vector<std::string_view> fields = place_names(space);
  fields.insert(fields.end(), {"k", "follow", "every_object", distance_max_name(space), "age_max",
                               "tags_required", "tags_forbidden", "subject_tags_required",
                               "subject_tags_forbidden", "lease"});
  if (space == Space::vector) fields.insert(fields.end(), {"vote", "regress"});
  return fields;
}

void read_anchor(const JsonFields& fields, const protocol::Limits& limits,
                 protocol::QuerySpec& query) {
  const bool has_place = fields.has(place_names(limits.space)[0]);
  const bool is_every = fields.has("every_object") && fields.boolean("every_object");
  const bool is_following = fields.has("follow");
  if (int{has_place} + int{is_every} + int{is_following} != 1)
    throw BadRequest{
        "The query needs one anchor: the coordinates or vector of a place, or \"follow\" with the "
        "id of an "
        "object, or \"every_object\": true."};
  if (has_place && limits.space == Space::vector)
    query.vector = fields.components("vector", limits.dimension);
  else if (has_place)
    query.position = read_position(fields, limits.space);
  if (is_every) query.anchor = AnchorKind::every_object;
  if (is_following) {
    query.anchor = AnchorKind::follow;
    query.object = read_object_id("follow", fields.text("follow"), limits);
  }
}

TagFilter read_tags(const JsonFields& fields, std::string_view required,
                    std::string_view forbidden) {
  TagFilter tags;
  if (fields.has(required)) tags.required = fields.uint32(required);
  if (fields.has(forbidden)) tags.forbidden = fields.uint32(forbidden);
  return tags;
}

protocol::QuerySpec read_query(std::string_view body, const protocol::Limits& limits) {
  JsonReader reader;
  const auto known = query_fields(limits.space);
  const JsonFields fields(reader.parse_short(body, limits.dimension), known, "The query");
  protocol::QuerySpec query;
  query.k = fields.uint32("k");
  read_anchor(fields, limits, query);
  query.tags = read_tags(fields, "tags_required", "tags_forbidden");
  query.subject = read_tags(fields, "subject_tags_required", "subject_tags_forbidden");
  const std::string_view distance_max = distance_max_name(limits.space);
  if (fields.has(distance_max)) query.distance_max_m = fields.number(distance_max);
  if (limits.space == Space::vector) read_predictions(fields, query);
  if (fields.has("age_max")) query.age_max_us = fields.duration_us("age_max");
  if (!fields.has("lease")) return query;
  const std::int64_t lease_us = fields.duration_us("lease");
  if (lease_us < us_per_ms) fields.refuse("lease", "must be at least 1ms");
  query.lease_ms = static_cast<std::uint64_t>(lease_us / us_per_ms);
  return query;
}

}  // namespace

void HttpApi::get_streams(HttpCall call) {
  const Parameters none(call.query, {});
  std::make_shared<StreamList>(client_of(call), parts_.limits, std::move(call.respond))->ask(0);
}

void HttpApi::put_stream(HttpCall call) {
  const Parameters none(call.query, {});
  static constexpr auto known = std::to_array<std::string_view>({"on", "with"});
  JsonReader reader;
  const JsonFields fields(reader.parse_short(call.request.body, parts_.limits.dimension), known,
                          "The stream");
  StreamDefinition stream{.name = call.names[0], .on = read_on(fields), .with = read_with(fields)};
  client_of(call).send(
      [stream] {
        return protocol::PutStream{.name = stream.name, .on = stream.on, .with = stream.with};
      },
      [respond = call.respond, stream](const protocol::ReplyBody& reply) {
        if (!std::holds_alternative<protocol::Done>(reply)) return respond(refusal_answer(reply));
        JsonText json;
        append(json, stream);
        respond(json_answer(json));
      });
}

void HttpApi::delete_stream(HttpCall call) {
  const Parameters none(call.query, {});
  client_of(call).send(
      [stream = call.names[0]] { return protocol::RemoveStream{.name = stream}; },
      [respond = call.respond, stream = call.names[0]](const protocol::ReplyBody& reply) {
        if (!std::holds_alternative<protocol::Done>(reply)) return respond(refusal_answer(reply));
        JsonText json;
        json.begin_object().key("removed").text(stream).end_object();
        respond(json_answer(json));
      });
}

void HttpApi::put_query(HttpCall call) {
  const Parameters none(call.query, {});
  protocol::QuerySpec query = read_query(call.request.body, parts_.limits);
  query.id = QueryId{to_number(read_object_id("The query's id", call.names[1], parts_.limits))};
  send_one_row(
      client_of(call),
      [stream = call.names[0], query] {
        return protocol::PutQueries{.stream = stream, .queries = {query}};
      },
      "The query", std::move(call.respond));
}

void HttpApi::delete_query(HttpCall call) {
  const Parameters none(call.query, {});
  const std::uint64_t id =
      to_number(read_object_id("The query's id", call.names[1], parts_.limits));
  const auto owned = std::make_shared<std::pair<std::string, std::uint64_t>>(call.names[0], id);
  send_one_row(
      client_of(call),
      [owned] {
        return protocol::RemoveQueries{.stream = owned->first, .ids = {&owned->second, 1}};
      },
      "The removal", std::move(call.respond));
}

}  // namespace starling::stream
