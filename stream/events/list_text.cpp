// SPDX-License-Identifier: Apache-2.0
// Reads the arrays of a chunk and appends their values: see list_text.hpp.
#include "starling/stream/events/list_text.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace starling::stream {

using protocol::ListChunk;

namespace {

void append_key(JsonText& json, const ListChunk& lists, std::size_t index) {
  json.key("query").text(std::to_string(lists.query_ids[index]));
  if (lists.subject_of(index)) json.key("subject").text(std::to_string(lists.subject_ids[index]));
}

void append_neighbor(JsonText& json, const ListChunk& lists, std::size_t at, const ListForm& form) {
  json.begin_object().key("id").text(std::to_string(lists.object_ids[at]));
  if (!lists.distances_m.empty()) json.key("distance_m").number(lists.distances_m[at]);
  if (!lists.positions.empty())
    for (std::size_t axis = 0; axis < form.coordinates.size(); ++axis)
      json.key(form.coordinates[axis]).number(lists.positions[3 * at + axis]);
  if (!lists.tags.empty()) json.key("tags").number(std::uint64_t{lists.tags[at]});
  const std::string_view name = form.name_of(ObjectId{lists.object_ids[at]});
  if (!name.empty()) json.key("name").text(name);
  json.end_object();
}

}  // namespace

void append_list(JsonText& json, const ListChunk& lists, std::size_t index, const ListForm& form) {
  json.begin_object();
  append_key(json, lists, index);
  if (const Label vote = lists.vote_of(index); vote != no_label)
    json.key("vote").number(std::int64_t{vote});
  if (const double mean = lists.mean_of(index); std::isfinite(mean)) json.key("mean").number(mean);
  json.key("neighbors").begin_array();
  for (std::size_t at = lists.offsets[index]; at < lists.offsets[index + 1]; ++at)
    append_neighbor(json, lists, at, form);
  json.end_array().end_object();
}

void append_removed(JsonText& json, const ListChunk& lists, std::size_t index) {
  json.begin_object();
  append_key(json, lists, index);
  json.end_object();
}

}  // namespace starling::stream
