// SPDX-License-Identifier: Apache-2.0
// Asks, waits for the answer, and asks again: see simulated_asker.hpp.
#include "tests/server_simulation/principals/simulated_asker.hpp"

#include <array>
#include <utility>
#include <variant>

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::simulation {

namespace {

constexpr std::int64_t patience_us = 400'000;

}  // namespace

SimulatedAsker::SimulatedAsker(VirtualWorld& world, SimulatedNetwork& network,
                               Promptness& promptness, const Origin& origin, std::size_t components)
    : world_(world),
      network_(network),
      promptness_(promptness),
      origin_(origin),
      requests_(world, {.components = components}) {
  connect();
  work();
}

void SimulatedAsker::connect() {
  network_.close(connection_);
  is_greeted_ = false;
  if (asked_id_ != 0) session_.abandon(std::exchange(asked_id_, 0));
  since_us_ = world_.now_us();
  connection_ = network_.connect(origin_, [this](const Bytes& bytes) { take(bytes); });
  promptness_.watch(connection_);
  network_.send(connection_, session_.hello().bytes());
}

void SimulatedAsker::work() {
  world_.after(2000 + static_cast<std::int64_t>(world_.random().below(30'000)), [this] {
    const bool waits = !is_greeted_ || asked_id_ != 0;
    if (waits && world_.now_us() - since_us_ > patience_us) connect();
    if (is_greeted_ && asked_id_ == 0) ask();
    work();
  });
}

void SimulatedAsker::ask() {
  const std::array<std::uint64_t, 3> ids{1, 2, 3};
  protocol::RequestBody body = protocol::GetStats{};
  const std::uint64_t choice = world_.random().below(5);
  if (choice == 0) body = protocol::GetNames{ids};
  if (choice == 1) body = protocol::ListStreams{};
  if (choice == 2) body = protocol::GetObjects{.object_ids = ids};
  if (choice == 3) body = protocol::GetNeighbors{{requests_.question()}};
  auto prepared = session_.prepare(body);
  const auto& outgoing = session_.admit(std::get<protocol::Outgoing>(std::move(prepared)));
  asked_id_ = outgoing.request_id;
  since_us_ = world_.now_us();
  network_.send(connection_, outgoing.frame.bytes());
}

void SimulatedAsker::take(const Bytes& bytes) {
  const protocol::AlignedBytes frame(*bytes);
  const protocol::DecodedReply reply = protocol::decode_reply(frame);
  if (const auto* hello = std::get_if<protocol::HelloReply>(&reply.body)) {
    if (is_greeted_) return;
    session_.on_hello(*hello);
    is_greeted_ = true;
  } else if (reply.head.request_id == asked_id_ && asked_id_ != 0) {
    session_.abandon(std::exchange(asked_id_, 0));
    const auto* error = std::get_if<protocol::ErrorReply>(&reply.body);
    if (error != nullptr && error->problem.code == protocol::ErrorCode::unknown_session) connect();
  }
}

}  // namespace starling::simulation
