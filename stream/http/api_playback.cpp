// SPDX-License-Identifier: Apache-2.0
// The routes of /v1/playback. They show and change the time, speed and pause of the recording that
// the server plays.
#include <array>
#include <cmath>

#include "starling/knn/base/json_text.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/recording.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/json_reader.hpp"

namespace starling::stream {
namespace {

HttpAnswer playback_answer(const PlaybackState& state) {
  JsonText json;
  json.begin_object().key("time_us").number(state.time_us).key("begin_us").number(state.begin_us);
  json.key("end_us").number(state.end_us).key("speed").number(state.speed);
  json.key("paused").boolean(state.is_paused).end_object();
  return json_answer(json);
}

Recording& recording_or_refusal(const std::shared_ptr<Recording>& recording) {
  if (recording == nullptr)
    throw BadRequest{"This server plays no recording; starling view does.", 404};
  return *recording;
}

}  // namespace

void HttpApi::get_playback(HttpCall call) {
  const Parameters none(call.query, {});
  call.respond(playback_answer(recording_or_refusal(parts_.recording).state()));
}

void HttpApi::put_playback(HttpCall call) {
  const Parameters none(call.query, {});
  Recording& recording = recording_or_refusal(parts_.recording);
  static constexpr auto known = std::to_array<std::string_view>({"time", "speed", "paused"});
  JsonReader reader;
  const JsonFields fields(reader.parse_short(call.request.body, parts_.limits.dimension), known,
                          "The playback");
  PlaybackChange change;
  if (fields.has("time")) change.time_us = fields.time_us("time");
  if (fields.has("speed")) change.speed = fields.number("speed");
  if (change.speed && !(*change.speed > 0)) fields.refuse("speed", "must be greater than 0");
  if (fields.has("paused")) change.is_paused = fields.boolean("paused");
  recording.change(change);
  call.respond(playback_answer(recording.state()));
}

}  // namespace starling::stream
