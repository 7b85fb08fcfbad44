// SPDX-License-Identifier: Apache-2.0
// Applies messages and fetches snapshots over the network: see simulated_subscriber.hpp.
#include "tests/server_simulation/simulated_subscriber.hpp"

#include <utility>
#include <variant>

namespace starling::simulation {

SimulatedSubscriber::SimulatedSubscriber(VirtualWorld& world, SimulatedNetwork& network,
                                         History& history, const Origin& origin, std::string stream)
    : world_(world),
      network_(network),
      history_(history),
      origin_(origin),
      stream_(std::move(stream)),
      state_({.stream = stream_}),
      session_("subscriber") {
  network_.subscribe(protocol::topic_of(stream_),
                     [this](const std::shared_ptr<const SentMessage>& sent) {
                       std::vector<protocol::AlignedBytes> frames;
                       for (const Bytes& frame : sent->frames) frames.emplace_back(*frame);
                       state_.on_tick(protocol::receive_tick(std::move(frames), sent));
                       remember();
                     });
  connect();
  work();
}

void SimulatedSubscriber::connect() {
  network_.close(connection_);
  is_greeted_ = false;
  asked_id_.reset();
  asked_us_ = world_.now_us();
  connection_ = network_.connect(origin_, [this](const Bytes& bytes) { take(bytes); });
  network_.send(connection_, session_.hello().bytes());
}

void SimulatedSubscriber::work() {
  world_.after(1000 + static_cast<std::int64_t>(world_.random().below(20'000)), [this] {
    const bool waits = !is_greeted_ || asked_id_;
    if (waits && world_.now_us() - asked_us_ > 300'000) {
      if (asked_id_) {
        session_.abandon(*asked_id_);
        state_.on_page_refused();
      }
      connect();
    }
    const auto wanted = state_.wanted_page();
    if (is_greeted_ && wanted && !asked_id_) {
      auto prepared = session_.prepare(*wanted);
      const auto& outgoing = session_.admit(std::get<protocol::Outgoing>(std::move(prepared)));
      asked_id_ = outgoing.request_id;
      asked_us_ = world_.now_us();
      network_.send(connection_, outgoing.frame.bytes());
    }
    work();
  });
}

void SimulatedSubscriber::take(const Bytes& bytes) {
  const protocol::AlignedBytes frame(*bytes);
  const protocol::DecodedReply reply = protocol::decode_reply(frame);
  if (const auto* hello = std::get_if<protocol::HelloReply>(&reply.body)) {
    if (is_greeted_) return;
    session_.on_hello(*hello);
    is_greeted_ = true;
    return;
  }
  if (!asked_id_ || reply.head.request_id != *asked_id_) return;
  session_.abandon(*asked_id_);
  asked_id_.reset();
  if (const auto* page = std::get_if<protocol::SnapshotPage>(&reply.body)) {
    state_.on_page(*page);
    remember();
  } else {
    state_.on_page_refused();
  }
}

void SimulatedSubscriber::remember() {
  const auto& at = state_.held_at();
  if (!at || at == remembered_) return;
  remembered_ = at;
  history_.held({stream_, *at, state_.lists(), state_.counters().restarts});
}

}  // namespace starling::simulation
