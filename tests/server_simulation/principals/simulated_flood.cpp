// SPDX-License-Identifier: Apache-2.0
// Draws bursts: see simulated_flood.hpp.
#include "tests/server_simulation/principals/simulated_flood.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::simulation {

SimulatedFlood::SimulatedFlood(VirtualWorld& world, SimulatedNetwork& network, const Origin& origin,
                               std::size_t components, std::uint64_t connections,
                               std::uint64_t requests_max)
    : world_(world),
      network_(network),
      origin_(origin),
      requests_(world, {.components = components}),
      left_(requests_max),
      connections_(connections),
      batch_(requests_.long_batch()) {
  for (Connection& connection : connections_) connect(connection);
  work();
}

void SimulatedFlood::connect(Connection& connection) {
  network_.close(connection.number);
  connection.session = 0;
  connection.number = network_.connect(origin_, [&connection](const Bytes& bytes) {
    const protocol::AlignedBytes frame(*bytes);
    const protocol::DecodedReply reply = protocol::decode_reply(frame);
    if (const auto* hello = std::get_if<protocol::HelloReply>(&reply.body);
        hello != nullptr && connection.session == 0)
      connection.session = hello->session;
  });
  send(connection, Kind::hellos, protocol::Hello{.client = "greedy"});
}

void SimulatedFlood::work() {
  world_.after(1000 + static_cast<std::int64_t>(world_.random().below(100'000)), [this] {
    Connection& connection = connections_[world_.random().below(connections_.size())];
    if (!network_.is_open(connection.number) || connection.session == 0) connect(connection);
    const std::uint64_t count = std::min(left_, 1 + world_.random().below(60));
    left_ -= count;
    burst(connection, count);
    if (left_ > 0) work();
  });
}

void SimulatedFlood::burst(Connection& connection, std::uint64_t count) {
  const auto kind = static_cast<Kind>(world_.random().below(kinds));
  const protocol::RequestBody body = body_of(kind);
  // Long requests are fewer, so that simulations take little time.
  for (std::uint64_t i = kind == Kind::batches ? count / 8 : count; i > 0; --i)
    send(connection, kind, body);
}

protocol::RequestBody SimulatedFlood::body_of(Kind kind) {
  static constexpr std::array<std::uint64_t, 4> ids{1, 2, 3, 4};
  switch (kind) {
    case Kind::names:
      return protocol::GetNames{ids};
    case Kind::listing:
      return protocol::ListStreams{};
    case Kind::objects:
      return protocol::GetObjects{.object_ids = ids};
    case Kind::questions:
      return protocol::GetNeighbors{std::vector(8, requests_.question())};
    case Kind::hellos:
      return protocol::Hello{.client = "greedy"};
    case Kind::batches:
      return batch_.body();
    case Kind::stats:
    case Kind::guesses:
    case Kind::malformed:
      break;
  }
  return protocol::GetStats{};
}

void SimulatedFlood::send(Connection& connection, Kind kind, const protocol::RequestBody& body) {
  constexpr std::uint64_t wrong_number = 1'000'000;
  const bool has_session = kind != Kind::hellos && kind != Kind::guesses;
  const protocol::Frame frame =
      protocol::encode_request({.request_id = ++next_request_,
                                .session = kind == Kind::guesses ? world_.random().next()
                                           : has_session         ? connection.session
                                                                 : 0,
                                .sequence = kind == Kind::batches ? wrong_number : 0},
                               body);
  const auto bytes = frame.bytes();
  network_.send(connection.number, kind == Kind::malformed ? bytes.first(bytes.size() / 2) : bytes);
}

}  // namespace starling::simulation
