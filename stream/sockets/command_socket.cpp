// SPDX-License-Identifier: Apache-2.0
// Reads a limited number of requests at each turn of the loop, and sends replies: see
// command_socket.hpp.
#include "starling/stream/sockets/command_socket.hpp"

#include <utility>
#include <vector>

#include <zmq.hpp>

#include "starling/protocol/wire/zmq_frames.hpp"
#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/connection_limit.hpp"
#include "starling/stream/sockets/zmq_watch.hpp"

namespace starling::stream {

namespace {

// One turn of the loop ends after this many requests or bytes. The limits are low enough that ticks
// begin on time, and high enough that the cost of waking the loop does not matter.
constexpr int requests_per_turn = 64;
constexpr std::size_t bytes_per_turn = 4u << 20;

constexpr std::size_t parts_kept = 3;

}  // namespace

struct CommandSocket::State {
  State(boost::asio::io_context& loop, zmq::context_t& context, const CommandSocketOptions& options,
        Handlers the_handlers)
      : handlers(std::move(the_handlers)), socket(context, zmq::socket_type::router) {
    socket.set(zmq::sockopt::affinity, options.io_threads);
    socket.set(zmq::sockopt::router_mandatory, true);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(options.message_bytes_max));
    socket.set(zmq::sockopt::sndhwm, options.send_hwm);
    socket.set(zmq::sockopt::rcvhwm, options.receive_hwm);
    socket.set(zmq::sockopt::linger, options.linger_ms);
    connections = std::make_unique<ConnectionLimit>(loop, context, socket, "commands",
                                                    options.connections_max);
    endpoint = bind_endpoint(socket, options.endpoint, options.reach_allowed);
    watch = std::make_unique<ZmqWatch>(loop, socket, [this] { return drain(); });
  }

  bool drain() {
    std::size_t bytes = 0;
    for (int count = 0; count < requests_per_turn && bytes < bytes_per_turn; ++count) {
      if (stopped || !handlers.may_read()) return false;
      if (!receive_one(bytes)) return false;
    }
    return true;
  }

  /// Receives one message. Returns false if the socket is empty. ZeroMQ delivers all parts of a
  /// message together.
  bool receive_one(std::size_t& bytes) {
    std::vector<zmq::message_t> parts;
    bool more = true;
    for (std::size_t count = 0; more; ++count) {
      zmq::message_t part;
      if (!protocol::uninterrupted([&] { return socket.recv(part, zmq::recv_flags::dontwait); }))
        return false;
      more = part.more();
      bytes += part.size();
      if (count <= parts_kept) parts.push_back(std::move(part));
    }
    Peer peer{parts[0].to_string(), parts.size() == 3 && parts[1].empty()};
    const bool has_one_body = parts.size() == 2 || peer.has_delimiter;
    if (!has_one_body) {
      handlers.malformed(peer);
      return true;
    }
    const auto body = std::make_shared<zmq::message_t>(std::move(parts.back()));
    handlers.request(std::move(peer),
                     {body, std::as_bytes(std::span(body->data<char>(), body->size()))});
    return true;
  }

  bool send_part(zmq::message_t part, zmq::send_flags flags) {
    return protocol::uninterrupted(
               [&] { return socket.send(part, flags | zmq::send_flags::dontwait); })
        .has_value();
  }

  Handlers handlers;
  zmq::socket_t socket;
  std::string endpoint;
  std::unique_ptr<ConnectionLimit> connections;
  std::unique_ptr<ZmqWatch> watch;
  bool stopped = false;
};

CommandSocket::CommandSocket(boost::asio::io_context& loop, zmq::context_t& context,
                             const CommandSocketOptions& options, Handlers handlers)
    : state_(std::make_unique<State>(loop, context, options, std::move(handlers))) {}

CommandSocket::~CommandSocket() = default;

const std::string& CommandSocket::endpoint() const {
  return state_->endpoint;
}

std::size_t CommandSocket::connection_count() const {
  return state_->connections->count();
}

std::uint64_t CommandSocket::refused_count() const {
  return state_->connections->refused();
}

CommandSocket::Sent CommandSocket::send(const Peer& peer, std::span<const std::byte> body) {
  State& state = *state_;
  state.watch->check_soon();
  try {
    // ZeroMQ can refuse only the first part of a message. If it accepts the first part, it also
    // accepts all other parts.
    if (!state.send_part(zmq::message_t(peer.routing_id), zmq::send_flags::sndmore))
      return Sent::peer_full;
    if (peer.has_delimiter) state.send_part(zmq::message_t(), zmq::send_flags::sndmore);
    state.send_part(zmq::message_t(body.data(), body.size()), zmq::send_flags::none);
  } catch (const zmq::error_t& error) {
    if (error.num() == EHOSTUNREACH) return Sent::peer_gone;
    throw;
  }
  return Sent::queued;
}

void CommandSocket::read_on() {
  state_->watch->check_soon();
}

void CommandSocket::stop_reading() {
  state_->stopped = true;
  state_->watch->stop();
}

}  // namespace starling::stream
