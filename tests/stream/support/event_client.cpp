// SPDX-License-Identifier: Apache-2.0
// Parses events and applies them: see event_client.hpp.
#include "tests/stream/support/event_client.hpp"

#include <array>
#include <chrono>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using simdjson::dom::element;

namespace {

std::uint64_t number_of(const element& text) {
  return std::stoull(std::string(text.get_string().value()));
}

protocol::ListKey key_of(const element& list) {
  protocol::ListKey key{.query = QueryId{number_of(list["query"])}};
  element subject;
  key.has_subject = !list["subject"].get(subject);
  if (key.has_subject) key.subject = ObjectId{number_of(subject)};
  return key;
}

std::vector<const char*> axes_of(Space space) {
  if (space == Space::wgs84) return {"lon", "lat", "alt"};
  if (space == Space::planar3) return {"x", "y", "z"};
  return {"x", "y"};
}

void read_neighbor(const element& neighbor, Space space, protocol::HeldList& list) {
  protocol::HeldNeighbor& held = list.neighbors.emplace_back();
  held.object = ObjectId{number_of(neighbor["id"])};
  element value;
  if (!neighbor["distance_m"].get(value)) held.distance_m = value.get_double();
  const auto axes = axes_of(space);
  const bool has_position = !neighbor[axes[0]].get(value);
  const bool has_tags = !neighbor["tags"].get(value);
  if (!has_position && !has_tags) return;
  protocol::HeldState& state = list.states.emplace_back();
  if (has_tags) state.tags = static_cast<std::uint32_t>(value.get_uint64().value());
  for (std::size_t axis = 0; has_position && axis < axes.size(); ++axis)
    state.position[axis] = neighbor[axes[axis]].get_double().value();
}

}  // namespace

void read_lists(const element& array, Space space, protocol::ListStore& lists) {
  for (const element list : array) {
    protocol::HeldList held;
    element value;
    if (!list["vote"].get(value)) held.vote = value.get_int64();
    if (!list["mean"].get(value)) held.mean = value.get_double();
    for (const element neighbor : list["neighbors"]) read_neighbor(neighbor, space, held);
    lists.insert_or_assign(key_of(list), std::move(held));
  }
}

unsigned EventClient::connect() {
  const std::size_t colon = options_.endpoint.rfind(':');
  const auto port = static_cast<std::uint16_t>(std::stoi(options_.endpoint.substr(colon + 1)));
  disconnect();
  stream_ = std::make_unique<boost::beast::tcp_stream>(loop_);
  auto& socket = stream_->socket();
  socket.open(asio::ip::tcp::v4());
  if (options_.receive_bytes > 0)
    socket.set_option(asio::socket_base::receive_buffer_size(options_.receive_bytes));
  socket.connect({asio::ip::make_address(options_.endpoint.substr(0, colon)), port});
  std::string request = "GET /v1/streams/" + options_.stream + "/events HTTP/1.1\r\n";
  bool has_host = false;
  for (const auto& [name, value] : options_.fields) {
    request += name + ": " + value + "\r\n";
    has_host = has_host || name == "Host";
  }
  if (!has_host) request += "Host: localhost\r\n";
  if (!last_id_.empty()) request += "Last-Event-ID: " + last_id_ + "\r\n";
  asio::write(socket, asio::buffer(request + "\r\n"));
  while (received_.find("\r\n\r\n") == std::string::npos)
    if (!receive()) return 0;
  const std::size_t end = received_.find("\r\n\r\n") + 4;
  answer_ = received_.substr(0, end);
  received_.erase(0, end);
  const auto status = static_cast<unsigned>(std::stoi(answer_.substr(9, 3)));
  if (status != 200) answer_ += received_;
  return status;
}

void EventClient::disconnect() {
  stream_.reset();
  received_.clear();
  type_.clear();
  id_.clear();
  data_.clear();
  incoming_.clear();
  next_part_ = 1;
}

bool EventClient::read_until(const std::function<bool()>& is_enough) {
  while (!is_enough())
    if (!take_event() && !receive()) return false;
  return true;
}

bool EventClient::read_to_end() {
  while (take_event() || receive()) {
  }
  return received_.empty();
}

bool EventClient::receive() {
  std::array<char, 16384> bytes{};
  bool is_received = false;
  stream_->expires_after(patience);
  stream_->async_read_some(asio::buffer(bytes),
                           [&](const boost::system::error_code& error, std::size_t count) {
                             received_.append(bytes.data(), count);
                             is_received = !error;
                           });
  loop_.restart();
  loop_.run();
  return is_received;
}

/// Takes an event or a comment from the received text. Returns false if none is complete.
bool EventClient::take_event() {
  const std::size_t end = received_.find("\n\n");
  if (end == std::string::npos) return false;
  const std::string text = received_.substr(0, end);
  received_.erase(0, end + 2);
  if (options_.keeps_texts) texts_ += text + "\n\n";
  type_.clear();
  id_.clear();
  data_.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', begin), text.size());
    take_line(std::string_view(text).substr(begin, line_end - begin));
    begin = line_end + 1;
  }
  if (!data_.empty()) dispatch();
  return true;
}

void EventClient::take_line(std::string_view line) {
  if (line.starts_with(':')) {
    ++counts_.comments;
    return;
  }
  const std::size_t colon = line.find(": ");
  ASSERT_NE(colon, std::string_view::npos) << line;
  const std::string_view name = line.substr(0, colon);
  const std::string value(line.substr(colon + 2));
  if (name == "event") type_ = value;
  if (name == "id") id_ = value;
  if (name == "data") data_ = value;
}

void EventClient::dispatch() {
  ++counts_.events;
  const element root = parser_.parse(data_);
  if (type_ == "snapshot")
    take_snapshot(root);
  else if (type_ == "tick")
    take_tick(root);
  else if (type_ == "gap")
    take_gap(root);
  else if (type_ == "removed")
    ++counts_.removals;
  else if (type_ == "refused")
    ++counts_.refusals;
  else
    ADD_FAILURE() << "an unknown event " << type_;
  if (!id_.empty()) last_id_ = id_;
}

void EventClient::take_snapshot(const element& root) {
  ++counts_.snapshot_parts;
  const std::uint64_t parts = root["parts"].get_uint64();
  EXPECT_FALSE(is_live_) << "lists are replaced without a gap";
  EXPECT_EQ(root["part"].get_uint64().value(), next_part_);
  EXPECT_EQ(!id_.empty(), next_part_ == parts) << "only the last part has an id";
  read_lists(root["lists"], options_.space, incoming_);
  if (next_part_++ < parts) return;
  next_part_ = 1;
  lists_ = std::exchange(incoming_, {});
  sequence_ = root["sequence"].get_uint64();
  time_us_ = root["time_us"].get_int64();
  EXPECT_EQ(id_, std::string(root["epoch"].get_string().value()) + "-" + std::to_string(sequence_));
  is_live_ = true;
  ++counts_.snapshots;
}

void EventClient::take_tick(const element& root) {
  EXPECT_TRUE(is_live_) << "a snapshot must follow a gap";
  EXPECT_EQ(root["sequence"].get_uint64().value(), sequence_ + 1) << "a tick is missing";
  sequence_ = root["sequence"].get_uint64();
  ++counts_.ticks;
  bool failed = false;
  if (!root["failed"].get(failed) && failed)
    ++counts_.failed_ticks;
  else
    time_us_ = root["time_us"].get_int64();
  std::vector<protocol::ListKey> removed;
  for (const element list : root["removed"]) removed.push_back(key_of(list));
  protocol::remove_lists(lists_, removed);
  read_lists(root["lists"], options_.space, lists_);
}

void EventClient::take_gap(const element& root) {
  is_live_ = false;
  ++counts_.gaps;
  std::uint64_t missed = 0;
  if (root["missed"].get(missed)) {
    EXPECT_TRUE(root["restarted"].get_bool().value());
    ++counts_.restarts;
  }
  counts_.missed += missed;
}

}  // namespace starling::stream
