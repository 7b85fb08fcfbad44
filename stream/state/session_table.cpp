// SPDX-License-Identifier: Apache-2.0
// Compares a request's number with the session's last number and its kept replies, and decides what
// to do with the request: see session_table.hpp.
#include "starling/stream/state/session_table.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

SessionTable::SessionTable(const SessionLimits& limits, std::uint64_t seed)
    : limits_(limits), next_session_(seed | 1) {}

std::optional<SessionTable::Opened> SessionTable::open(std::uint64_t resume_session,
                                                       std::uint64_t first_sequence,
                                                       std::int64_t now_us) {
  if (touch(resume_session, now_us))
    return Opened{resume_session, true, sessions_.at(resume_session).last_sequence};
  std::optional<std::uint64_t> replaced;
  if (sessions_.size() >= limits_.sessions_max) {
    if (unused_.empty()) return std::nullopt;
    replaced = unused_.front();
    forget(sessions_.find(*replaced));
  }
  while (next_session_ == 0 || sessions_.contains(next_session_)) ++next_session_;
  const std::uint64_t id = next_session_++;
  sessions_[id] = {.heard_us = now_us,
                   .last_sequence = first_sequence - 1,
                   .taken = {},
                   .replies = {},
                   .unused = unused_.insert(unused_.end(), id)};
  return Opened{id, false, first_sequence - 1, replaced};
}

void SessionTable::take_off_unused(Session& session) {
  if (session.unused) unused_.erase(*session.unused);
  session.unused.reset();
}

void SessionTable::forget(Sessions::iterator session) {
  take_off_unused(session->second);
  sessions_.erase(session);
}

bool SessionTable::touch(std::uint64_t session, std::int64_t now_us) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  found->second.heard_us = now_us;
  take_off_unused(found->second);
  return true;
}

std::vector<std::uint64_t> SessionTable::expire(std::int64_t now_us) {
  std::vector<std::uint64_t> expired;
  for (const auto& [id, session] : sessions_)
    if (now_us - session.heard_us > limits_.idle_us) expired.push_back(id);
  for (const std::uint64_t id : expired) forget(sessions_.find(id));
  return expired;
}

SessionTable::Admission SessionTable::admit(std::uint64_t session_id,
                                            std::uint64_t sequence) const {
  const Session& session = sessions_.at(session_id);
  Admission admission{
      .kind = Admission::Kind::fresh, .reply = nullptr, .expected = session.last_sequence + 1};
  if (sequence == admission.expected) return admission;
  if (sequence > admission.expected) {
    admission.kind = Admission::Kind::gap;
    return admission;
  }
  const std::uint64_t age = session.last_sequence - sequence;
  if (age >= session.replies.size()) {
    admission.kind = Admission::Kind::forgotten;
    return admission;
  }
  const auto& reply = session.replies[session.replies.size() - 1 - age];
  admission.kind = reply ? Admission::Kind::resend : Admission::Kind::unanswered;
  admission.reply = reply ? &*reply : nullptr;
  return admission;
}

void SessionTable::begin(std::uint64_t session_id, std::uint64_t sequence) {
  Session& session = sessions_.at(session_id);
  check_invariant(sequence == session.last_sequence + 1, "sequence numbers are used up in order");
  session.last_sequence = sequence;
  session.replies.emplace_back();
  if (session.replies.size() > limits_.replies_max) session.replies.pop_front();
}

void SessionTable::answered(std::uint64_t session_id, std::uint64_t sequence,
                            SequencedReply reply) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  const std::uint64_t age = session.last_sequence - sequence;
  if (age >= session.replies.size()) return;
  session.replies[session.replies.size() - 1 - age] = std::move(reply);
}

void SessionTable::give_back_stream(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end() && found->second.taken.streams > 0) --found->second.taken.streams;
}

SessionTaken SessionTable::most_taken() const {
  SessionTaken most;
  for (const auto& [id, session] : sessions_) {
    most.streams = std::max(most.streams, session.taken.streams);
    most.names = std::max(most.names, session.taken.names);
  }
  return most;
}

std::uint64_t SessionTable::next_sequence(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.last_sequence + 1;
}

}  // namespace starling::stream
