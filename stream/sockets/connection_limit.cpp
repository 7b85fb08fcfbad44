// SPDX-License-Identifier: Apache-2.0
// Reads the events of a ZeroMQ socket monitor: see connection_limit.hpp.
#include "starling/stream/sockets/connection_limit.hpp"

#include <cstring>
#include <string>

#include <sys/socket.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::stream {

namespace {

constexpr int events_per_turn = 256;

// The content of an event's first frame.
struct Event {
  std::uint16_t kind = 0;
  int descriptor = -1;
};

Event to_event(const zmq::message_t& frame) {
  Event event;
  std::uint32_t value = 0;
  std::memcpy(&event.kind, frame.data(), sizeof(event.kind));
  std::memcpy(&value, frame.data<char>() + sizeof(event.kind), sizeof(value));
  event.descriptor = static_cast<int>(value);
  return event;
}

}  // namespace

ConnectionLimit::ConnectionLimit(boost::asio::io_context& loop, zmq::context_t& context,
                                 zmq::socket_t& socket, std::string_view name,
                                 std::size_t connections_max)
    : socket_(socket),
      events_(context, zmq::socket_type::pair),
      connections_max_(connections_max),
      watch_(loop, events_, [this] { return drain(); }) {
  const std::string endpoint = "inproc://connections of " + std::string(name);
  if (zmq_socket_monitor(socket.handle(), endpoint.c_str(),
                         ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw zmq::error_t();
  // The queue of events has no limit. ZeroMQ's threads block while a limited queue is full. After
  // the loop has ended, nothing reads the queue, and the threads would block for ever.
  events_.set(zmq::sockopt::rcvhwm, 0);
  events_.connect(endpoint);
}

ConnectionLimit::~ConnectionLimit() {
  zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

bool ConnectionLimit::ended_within(std::int64_t period_us) {
  while (drain()) {
  }
  watch_.check_soon();
  return last_end_us_ && steady_now_us() - *last_end_us_ < period_us;
}

bool ConnectionLimit::drain() {
  for (int count = 0; count < events_per_turn; ++count) {
    zmq::message_t frame;
    if (!protocol::receive_now(events_, frame)) return false;
    const Event event = to_event(frame);
    protocol::receive_now(events_, frame);  // skips the second frame, the endpoint
    if (event.kind == ZMQ_EVENT_ACCEPTED) accepted(event.descriptor);
    if (event.kind == ZMQ_EVENT_DISCONNECTED) ended(event.descriptor);
  }
  return true;
}

// After the shutdown, ZeroMQ notices that the connection has ended, and closes its descriptor. If
// the peer had already left, ZeroMQ may have closed the descriptor before the shutdown, and a new
// connection may have the same descriptor. The shutdown then ends the new connection, and its peer
// connects again.
void ConnectionLimit::accepted(int descriptor) {
  if (connections_.size() < connections_max_) {
    connections_.insert(descriptor);
    return;
  }
  ++refused_;
  ::shutdown(descriptor, SHUT_RDWR);
}

void ConnectionLimit::ended(int descriptor) {
  connections_.erase(descriptor);
  last_end_us_ = steady_now_us();
}

}  // namespace starling::stream
