// SPDX-License-Identifier: Apache-2.0
// Reads the monitor's events: see handshake_watch.hpp.
#include "starling/protocol/client/handshake_watch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::protocol {
namespace {

constexpr int watched_events =
    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED |
    ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

// How long a wait lasts until the bytes of a message that has not come are counted. More than this
// time of a fast network's bytes may come beyond the limit.
constexpr std::chrono::milliseconds count_interval{50};

/// Returns the number that the kernel gives a connection. A descriptor may be another connection by
/// now. Returns 0 if the descriptor is no socket or the system has no such numbers.
std::uint64_t cookie_of(int descriptor) {
  std::uint64_t cookie = 0;
#ifdef __linux__
  socklen_t length = sizeof(cookie);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return 0;
#else
  static_cast<void>(descriptor);
#endif
  return cookie;
}

/// Returns how many bytes have come on a TCP connection; 0: not known.
std::uint64_t received_bytes(int descriptor) {
#ifdef __linux__
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_bytes_received;
#else
  static_cast<void>(descriptor);
  return 0;
#endif
}

struct Event {
  std::uint16_t kind = 0;
  std::uint32_t value = 0;
};

/// An event has two frames: kind and value, then the endpoint.
bool receive_event(zmq::socket_t& events, Event& event) {
  zmq::message_t frame;
  if (!receive_now(events, frame)) return false;
  if (frame.size() >= sizeof(event.kind) + sizeof(event.value)) {
    std::memcpy(&event.kind, frame.data(), sizeof(event.kind));
    std::memcpy(&event.value, frame.data<char>() + sizeof(event.kind), sizeof(event.value));
  }
  while (frame.more() && receive_now(events, frame)) continue;
  return true;
}

}  // namespace

void HandshakeWatch::start(zmq::context_t& context, zmq::socket_t& socket) {
  static std::atomic<std::uint64_t> count{0};  // makes the address unique in any context
  const std::string address = "inproc://starling-handshake-" + std::to_string(++count);
  events_ = zmq::socket_t(context, zmq::socket_type::pair);
  events_.set(zmq::sockopt::linger, 0);
  // libzmq sends its reports with blocking sends. Without a limit they never block, even if nothing
  // receives them.
  events_.set(zmq::sockopt::rcvhwm, 0);
  if (::zmq_socket_monitor(socket.handle(), address.c_str(), watched_events) != 0)
    throw zmq::error_t();
  watched_ = socket.handle();
  is_lost_ = is_shaking_ = ignores_failures_ = false;
  cookie_ = 0;
  bytes_before_.reset();
  events_.connect(address);
}

void HandshakeWatch::stop() {
  if (!events_) return;
  if (watched_ != nullptr) ::zmq_socket_monitor(watched_, nullptr, 0);
  watched_ = nullptr;
  events_.close();
}

HandshakeWatch::Seen HandshakeWatch::wait(zmq::socket_t& socket,
                                          std::chrono::steady_clock::time_point until) {
  if (!events_) return wait_until_readable(socket, until) ? Seen::message : Seen::nothing;
  while (true) {
    zmq::pollitem_t items[] = {{socket.handle(), 0, ZMQ_POLLIN, 0},
                               {events_.handle(), 0, ZMQ_POLLIN, 0}};
    uninterrupted([&] {
      using std::chrono::milliseconds;
      const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
      return zmq::poll(items, 2, std::clamp(left, milliseconds(0), count_interval));
    });
    if (items[0].revents != 0) {
      bytes_before_.reset();
      return Seen::message;
    }
    if (items[1].revents != 0) {
      const Seen failure = next_failure();
      if (failure != Seen::nothing && !ignores_failures_) return failure;
    } else if (is_endless()) {
      return Seen::endless;
    }
    if (std::chrono::steady_clock::now() >= until) return Seen::nothing;
  }
}

/// Counts from the first call after a message on, so that a wait that ends with a message counts
/// nothing.
bool HandshakeWatch::is_endless() {
  if (cookie_ == 0 || cookie_of(connection_) != cookie_) return false;
  const std::uint64_t bytes = received_bytes(connection_);
  if (!bytes_before_) bytes_before_ = bytes;
  return bytes > *bytes_before_ && bytes - *bytes_before_ > message_bytes_max_;
}

HandshakeWatch::Seen HandshakeWatch::next_failure() {
  Event event;
  if (!receive_event(events_, event)) return Seen::nothing;
  const bool was_shaking = std::exchange(is_shaking_, event.kind == ZMQ_EVENT_CONNECTED);
  switch (event.kind) {
    case ZMQ_EVENT_CONNECTED:
      connection_ = static_cast<int>(event.value);
      cookie_ = cookie_of(connection_);
      bytes_before_.reset();
      return Seen::nothing;
    case ZMQ_EVENT_CONNECT_RETRIED:
      return std::exchange(is_lost_, false) ? Seen::nothing : Seen::unreachable;
    case ZMQ_EVENT_DISCONNECTED:
      is_lost_ = true;
      return was_shaking ? Seen::other_socket : Seen::nothing;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return Seen::key_refused;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ? Seen::other_mechanism
                                                                       : Seen::cut;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      return Seen::cut;
    default:
      return Seen::nothing;
  }
}

}  // namespace starling::protocol
