// SPDX-License-Identifier: Apache-2.0
// Divides the lists into pieces, and joins the pieces: see stream_snapshot.hpp.
#include "starling/stream/events/stream_snapshot.hpp"

namespace starling::stream {

namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;

void add_piece(StreamSnapshot& snapshot, JsonText& json) {
  snapshot.bytes += json.size();
  snapshot.pieces.push_back(json.take());
}

}  // namespace

bool append_lists(StreamSnapshot& snapshot, const protocol::ListChunk& lists, const ListForm& form,
                  std::size_t bytes_max) {
  std::size_t index = 0;
  while (index < lists.list_count()) {
    JsonText json;
    json.begin_array();
    while (index < lists.list_count() && json.size() < piece_bytes)
      append_list(json, lists, index++, form);
    json.end_array();
    if (snapshot.bytes + json.size() > bytes_max) return false;
    add_piece(snapshot, json);
  }
  return true;
}

void append_head(JsonText& json, const std::string& stream, const StreamSnapshot& snapshot) {
  json.key("stream").text(stream);
  json.key("epoch").text(std::to_string(snapshot.epoch));
  json.key("sequence").number(snapshot.sequence);
  json.key("tick").number(to_number(snapshot.tick));
  json.key("time_us").number(snapshot.time_us);
}

std::string json_of(const std::string& stream, const StreamSnapshot& snapshot) {
  JsonText head;
  head.begin_object();
  append_head(head, stream, snapshot);
  head.key("lists");
  std::string text = head.take();
  text.reserve(text.size() + snapshot.bytes + 4);
  text += '[';
  for (const std::string& piece : snapshot.pieces) {
    if (piece.size() == 2) continue;  // an empty array
    if (text.back() != '[') text += ',';
    text.append(piece, 1, piece.size() - 2);
  }
  return text += "]}\n";
}

}  // namespace starling::stream
