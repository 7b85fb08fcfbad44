// SPDX-License-Identifier: Apache-2.0
// Sends requests and questions at random times, and resends them: see simulated_client.hpp.
#include "tests/server_simulation/simulated_client.hpp"

#include <utility>
#include <variant>

#include "starling/protocol/client/list_store.hpp"
#include "tests/stream/journal/told_state.hpp"

namespace starling::simulation {

SimulatedClient::SimulatedClient(VirtualWorld& world, SimulatedNetwork& network, History& history,
                                 const Origin& origin, std::uint64_t number,
                                 SimulatedRequests requests, bool has_past,
                                 std::uint64_t requests_max)
    : world_(world),
      network_(network),
      history_(history),
      origin_(origin),
      number_(number),
      requests_(requests),
      has_past_(has_past),
      requests_left_(requests_max),
      session_("simulated") {
  connect();
  work();
}

bool SimulatedClient::is_done() const {
  return requests_left_ == 0 && is_greeted_ && session_.unanswered().empty();
}

void SimulatedClient::connect() {
  network_.close(connection_);
  is_greeted_ = false;
  oldest_us_ = world_.now_us();
  connection_ = network_.connect(origin_, [this](const Bytes& bytes) { take(bytes); });
  network_.send(connection_, session_.hello().bytes());
}

/// Sends something at random intervals, and connects again if the server is silent.
void SimulatedClient::work() {
  world_.after(500 + static_cast<std::int64_t>(world_.random().below(20'000)), [this] {
    if (is_impatient()) connect();
    if (is_greeted_ && session_.unanswered().size() < unanswered_max) {
      if (requests_left_ > 0) {
        --requests_left_;
        submit(requests_.next());
      }
      if (world_.random().chance(0.1)) ask();
    }
    work();
  });
}

bool SimulatedClient::is_impatient() {
  const bool waits = !is_greeted_ || !session_.unanswered().empty();
  const std::uint64_t oldest =
      session_.unanswered().empty() ? 0 : session_.unanswered().front().request_id;
  if (!waits || (is_greeted_ && std::exchange(oldest_id_, oldest) != oldest))
    oldest_us_ = world_.now_us();
  return world_.now_us() - oldest_us_ > patience_us;
}

void SimulatedClient::greet() {
  connect();
}

void SimulatedClient::tick() {
  if (is_greeted_) submit(requests_.tick());
}

void SimulatedClient::submit(stream::OwnedRequest request) {
  auto prepared = session_.prepare(request.body());
  const auto* outgoing = std::get_if<protocol::Outgoing>(&prepared);
  if (outgoing == nullptr) return history_.violated("a client refuses its own request");
  history_.sent({number_, outgoing->sequence}, std::move(request));
  sequences_[outgoing->request_id] = outgoing->sequence;
  send(session_.admit(*outgoing));
}

void SimulatedClient::ask() {
  const protocol::QuerySpec question = requests_.question();
  // A tick that comes later cannot change the answer.
  std::optional<std::int64_t> at_us;
  if (const std::int64_t tau_us = history_.newest_tau_us();
      has_past_ && tau_us != 0 && world_.random().chance(0.15))
    at_us = tau_us - 1 - static_cast<std::int64_t>(world_.random().below(500'000));
  auto prepared = session_.prepare(protocol::GetNeighbors{{question}, at_us});
  const auto& outgoing = session_.admit(std::get<protocol::Outgoing>(std::move(prepared)));
  asked_[outgoing.request_id] = {question, history_.newest_tick(), at_us, history_.put_backs()};
  send(outgoing);
}

void SimulatedClient::send(const protocol::Outgoing& outgoing) {
  network_.send(connection_, outgoing.frame.bytes());
}

void SimulatedClient::take(const Bytes& bytes) {
  const protocol::AlignedBytes frame(*bytes);
  const protocol::DecodedReply reply = protocol::decode_reply(frame);
  if (reply.head.request_id == 0) return take_hello(reply);
  if (!is_greeted_) return;
  take_answer(reply);
}

void SimulatedClient::take_hello(const protocol::DecodedReply& reply) {
  const auto* hello = std::get_if<protocol::HelloReply>(&reply.body);
  if (is_greeted_ || hello == nullptr) return;  // a reply that came twice, or a refusal
  const auto put_back = session_.on_hello(*hello);
  if (is_session_used_ && !hello->resumed && !put_back)
    history_.violated("client " + std::to_string(number_) + " has lost its session");
  is_session_used_ = is_session_used_ && hello->resumed;
  history_.opened(hello->session, number_);
  std::optional<std::uint64_t> first_lost;
  if (put_back) first_lost = hello->resumed ? hello->next_sequence : 0;
  history_.greeted(number_, first_lost);
  is_greeted_ = true;
  for (const protocol::Outgoing& outgoing : session_.unanswered()) send(outgoing);
}

/// All replies to a request must be the same, also those that come after the first.
void SimulatedClient::note_reply(const protocol::DecodedReply& reply) {
  using protocol::ErrorCode;
  const auto sequence = sequences_.find(reply.head.request_id);
  if (sequence == sequences_.end()) return;
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply.body))
    for (const ErrorCode code : {ErrorCode::busy, ErrorCode::sequence_gap, ErrorCode::out_of_credit,
                                 ErrorCode::unknown_session, ErrorCode::shutting_down})
      if (error->problem.code == code) return;
  is_session_used_ = true;
  stream::RawReply told;
  told.decoded = reply;
  history_.replied({number_, sequence->second}, stream::told_reply(told));
}

void SimulatedClient::take_answer(const protocol::DecodedReply& reply) {
  const auto* error = std::get_if<protocol::ErrorReply>(&reply.body);
  note_reply(reply);
  const auto verdict = session_.on_reply(
      reply.head, error == nullptr ? protocol::ErrorCode::none : error->problem.code);
  switch (verdict) {
    case protocol::ClientSession::Verdict::unexpected:
      return;
    case protocol::ClientSession::Verdict::start_again:
      return connect();
    case protocol::ClientSession::Verdict::try_again:
      world_.after(20'000, [this, id = reply.head.request_id] {
        if (const auto* again = session_.find(id); again != nullptr && is_greeted_) send(*again);
      });
      return;
    case protocol::ClientSession::Verdict::answered:
      break;
  }
  if (sequences_.contains(reply.head.request_id)) {
    ++acknowledged_;
  } else if (const auto* found = std::get_if<protocol::Neighbors>(&reply.body)) {
    const auto question = asked_.extract(reply.head.request_id);
    if (found->lists.list_count() != 1) return history_.violated("a question has not one answer");
    // If a copy was put back meanwhile, published ticks may be lost.
    const Asked& asked = question.mapped();
    const bool is_same_log = asked.put_backs == history_.put_backs();
    if (asked.at_us && !is_same_log) return;
    const Tick published = is_same_log && !asked.at_us ? asked.published : Tick{};
    history_.answered({asked.question, published, found->head.tick,
                       protocol::list_of(found->lists, 0), !found->unknown.empty(), asked.at_us});
  }
}

}  // namespace starling::simulation
