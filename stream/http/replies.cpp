// SPDX-License-Identifier: Apache-2.0
// Writes the outcomes of rows as JSON, and errors as problems: see replies.hpp.
#include "starling/stream/http/replies.hpp"

#include <algorithm>
#include <variant>

#include "starling/stream/http/media_types.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/json/bad_request.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

protocol::ReachedLimit limit_of(const protocol::BatchReply& batch, RowReason reason) {
  const auto found = std::ranges::find(batch.reasons, reason, &protocol::ReasonCount::reason);
  return found == batch.reasons.end() ? protocol::ReachedLimit{} : found->limit;
}

}  // namespace

HttpAnswer json_answer(JsonText& json) {
  return {.content_type = "application/json", .body = json.take() + "\n"};
}

HttpAnswer geo_json_answer(JsonText& json) {
  return {.content_type = std::string(geo_json_type), .body = json.take() + "\n"};
}

bool wants_geo_json(std::string_view accept, Space space) {
  if (!prefers_geo_json(accept)) return false;
  if (space == Space::wgs84) return true;
  if (accepts(accept, json_type)) return false;
  throw BadRequest{"GeoJSON has longitudes and latitudes, and the space of this server is " +
                       std::string(to_string(space)) + "; accept application/json.",
                   406};
}

GeoFeature feature_of(const protocol::Objects& objects, std::size_t row) {
  return {.id = objects.ids[row],
          .position = objects.positions.subspan(row * 3, 3),
          .name = objects.names.empty() ? std::string_view() : objects.names[row],
          .tags = objects.tags[row],
          .time_us = objects.times_us[row]};
}

void append_feature(JsonText& json, const GeoFeature& feature) {
  const std::string id = std::to_string(feature.id);
  json.begin_object().key("type").text("Feature").key("id").text(id).key("geometry");
  if (feature.position.empty()) {
    json.null();
  } else {
    json.begin_object().key("type").text("Point").key("coordinates").begin_array();
    for (const double coordinate : feature.position) json.number(coordinate);
    json.end_array().end_object();
  }
  json.key("properties").begin_object().key("id").text(id);
  if (feature.distance_m) json.key("distance_m").number(*feature.distance_m);
  if (!feature.name.empty()) json.key("name").text(feature.name);
  if (!feature.position.empty()) {
    json.key("tags").number(std::uint64_t{feature.tags});
    json.key("time_us").number(feature.time_us);
  }
  json.end_object().end_object();
}

HttpAnswer refusal_answer(const protocol::ReplyBody& reply) {
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) {
    protocol::Problem problem = error->problem;
    problem.sentence = protocol::without_first_row(problem.sentence);
    return problem_answer(problem);
  }
  return problem_answer(503, "The server gave no answer to this request; send it again.");
}

namespace {

unsigned status_of(RowReason reason, bool is_limit) {
  if (reason == RowReason::unknown_query) return 404;
  if (reason == RowReason::not_allowed || reason == RowReason::not_owner) return 403;
  return is_limit ? 429 : 400;
}

}  // namespace

HttpAnswer rejected_answer(std::string_view what, const protocol::BatchReply& batch) {
  const RowReason reason = batch.reasons.empty() ? RowReason::none : batch.reasons.front().reason;
  const auto limit = limit_of(batch, reason);
  std::string sentence(what);
  sentence.append(" is refused: ").append(to_string(reason));
  if (!limit.name.empty())
    sentence.append(", because of the limit ").append(protocol::to_string(limit));
  return problem_answer(status_of(reason, !limit.name.empty()), sentence + ".", to_string(reason));
}

void RowOutcomes::add(const protocol::BatchReply& batch, std::span<const std::uint32_t> indexes) {
  accepted_ += batch.accepted;
  late_ += batch.late;
  const std::uint64_t rejected_before = rejected_;
  for (const protocol::RejectedRow& row : batch.first_rejected)
    reject(indexes.empty() ? row.index : indexes[row.index], row.reason,
           limit_of(batch, row.reason), row.column);
  rejected_ = rejected_before + batch.rejected;  // the batch lists only the first ones
}

void RowOutcomes::reject(std::uint32_t index, RowReason reason, const protocol::ReachedLimit& limit,
                         std::uint32_t column) {
  ++rejected_;
  if (first_rejected_.size() < 2 * protocol::rejected_rows_listed_max)
    first_rejected_.push_back({index, reason, limit, column});
}

HttpAnswer RowOutcomes::answer() const {
  auto listed = first_rejected_;
  std::ranges::stable_sort(listed, {}, &Rejected::index);
  if (listed.size() > protocol::rejected_rows_listed_max)
    listed.resize(protocol::rejected_rows_listed_max);
  JsonText json;
  json.begin_object().key("accepted").number(accepted_).key("late").number(late_);
  json.key("rejected").number(rejected_).key("reasons").begin_array();
  for (const Rejected& row : listed) {
    json.begin_object().key("index").number(std::uint64_t{row.index});
    json.key("reason").text(to_string(row.reason));
    if (row.column != protocol::RejectedRow::no_column)
      json.key("component").number(std::uint64_t{row.column});
    if (!row.limit.name.empty())
      json.key("limit").text(row.limit.name).key("limit_value").number(row.limit.value);
    json.end_object();
  }
  json.end_array().end_object();
  return json_answer(json);
}

}  // namespace starling::stream
