// SPDX-License-Identifier: Apache-2.0
// Writes the fields of events (retry, id, event, data): see event_text.hpp.
#include "starling/stream/events/event_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "starling/stream/http/problem.hpp"

namespace starling::stream {

namespace {

/// Makes a browser wait for this many milliseconds before it reconnects.
constexpr std::string_view slow_retry = "retry: 60000\n";

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string event(std::string_view type, std::string_view data) {
  std::string text = "event: ";
  return text.append(type).append("\ndata: ").append(data).append("\n\n");
}

std::string id_line(const EventId& id) {
  std::string line = "id: " + std::to_string(id.epoch) + "-" + std::to_string(id.sequence);
  if (id.run != 0) line += "-" + std::to_string(id.run) + "-" + std::to_string(id.place);
  return line += "\n";
}

EventText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::string snapshot_event(const std::string& stream, const StreamSnapshot& snapshot,
                           std::size_t part, std::size_t parts) {
  JsonText json;
  json.begin_object();
  append_head(json, stream, snapshot);
  json.key("part").number(std::uint64_t{part + 1}).key("parts").number(std::uint64_t{parts});
  json.key("lists");
  std::string data = json.take();
  data.append(snapshot.pieces.empty() ? "[]" : snapshot.pieces[part]).append("}");
  const bool is_last = part + 1 == parts;
  return (is_last ? id_line({snapshot.epoch, snapshot.sequence, snapshot.run, snapshot.place})
                  : "") +
         event("snapshot", data);
}

/// Calls `append` for each list with this event, until `json` has more than `bytes_max` bytes.
template <class Append>
void for_each_list(const protocol::DecodedTick& tick, ListEvent event, const JsonText& json,
                   std::size_t bytes_max, const Append& append) {
  for (const protocol::ListChunk& chunk : tick.chunks)
    for (std::size_t list = 0; list < chunk.list_count() && json.size() <= bytes_max; ++list)
      if (chunk.event_of(list) == event) append(chunk, list);
}

}  // namespace

std::optional<EventId> parse_event_id(std::string_view text) {
  EventId id;
  std::size_t count = 0;
  for (std::uint64_t* const part : {&id.epoch, &id.sequence, &id.run, &id.place}) {
    const std::size_t end = std::min(text.find('-'), text.size());
    const auto number = parse_number(text.substr(0, end));
    if (!number) return std::nullopt;
    *part = *number;
    ++count;
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (part == &id.place) return std::nullopt;
  }
  if (count != 2 && count != 4) return std::nullopt;
  return id;
}

std::vector<EventText> snapshot_events(const std::string& stream, const StreamSnapshot& snapshot) {
  const std::size_t parts = std::max<std::size_t>(snapshot.pieces.size(), 1);
  std::vector<EventText> events;
  for (std::size_t part = 0; part < parts; ++part)
    events.push_back(shared(snapshot_event(stream, snapshot, part, parts)));
  return events;
}

EventText tick_event(const protocol::DecodedTick& tick, const ListForm& form,
                     std::size_t bytes_max) {
  const protocol::TickHeader& header = tick.header;
  JsonText json;
  json.begin_object().key("sequence").number(header.sequence);
  json.key("tick").number(to_number(header.tick)).key("time_us").number(header.tau_us);
  if (header.failed) json.key("failed").boolean(true);
  json.key("removed").begin_array();
  if (header.removal_count > 0)
    for_each_list(tick, ListEvent::removed, json, bytes_max,
                  [&](const auto& chunk, std::size_t list) { append_removed(json, chunk, list); });
  json.end_array().key("lists").begin_array();
  for_each_list(tick, ListEvent::updated, json, bytes_max,
                [&](const auto& chunk, std::size_t list) { append_list(json, chunk, list, form); });
  json.end_array().end_object();
  if (json.size() > bytes_max) return nullptr;
  return shared(id_line({header.epoch, header.sequence, header.at.run.id, header.at.place}) +
                event("tick", json.take()));
}

EventText gap_event(std::uint64_t missed) {
  return shared(event("gap", "{\"missed\":" + std::to_string(missed) + "}"));
}

EventText restarted_event() {
  return shared(event("gap", "{\"restarted\":true}"));
}

EventText removed_event(const std::string& stream) {
  JsonText json;
  json.begin_object().key("stream").text(stream).end_object();
  return shared(std::string(slow_retry) + event("removed", json.take()));
}

EventText refused_event(const protocol::Problem& problem) {
  std::string data = problem_answer(problem).body;
  data.pop_back();  // the newline at its end
  return shared(std::string(slow_retry) + event("refused", data));
}

EventText heartbeat_text() {
  static const EventText text = shared(":\n\n");
  return text;
}

}  // namespace starling::stream
