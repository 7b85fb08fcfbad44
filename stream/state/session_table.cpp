// SPDX-License-Identifier: Apache-2.0
// Compares a request's number with the session's last number and its kept replies, and decides what
// to do with the request: see session_table.hpp.
#include "starling/stream/state/session_table.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

SessionTable::SessionTable(const SessionLimits& limits, std::function<std::uint64_t()> random,
                           std::function<bool(std::uint64_t)> has_arriving)
    : limits_(limits), random_(std::move(random)), has_arriving_(std::move(has_arriving)) {}

std::optional<SessionTable::Opened> SessionTable::open(std::uint64_t connection,
                                                       std::uint64_t resume_session,
                                                       std::uint64_t first_sequence,
                                                       std::int64_t now_us,
                                                       const SessionOwner& owner) {
  const std::int64_t awake_us = awake_.read(now_us);
  const bool resumes = has(owner.principal, resume_session);
  const RequestOwner holder = owner_of(owner.principal, owner.address);
  GivingWay whose;
  if (!resumes && has_its_share(holder)) whose.holder = holder;
  if (!resumes && count_of(owner.principal) >= owner.sessions_max)
    whose.principal = owner.principal;
  if (owner.has_connection && !(resumes && owns(connection, resume_session)) &&
      count_of(connection) >= limits_.connection_sessions_max)
    whose.connection = connection;
  std::optional<Forgotten> replaced;
  if (whose.principal || whose.holder || whose.connection ||
      (!resumes && sessions_.size() >= limits_.sessions_max)) {
    const auto replace = session_to_replace(awake_us, whose);
    if (replace == sessions_.end()) return std::nullopt;
    replaced = {replace->first, replace->second.number};
  }
  const auto forget_replaced = [&] {
    if (replaced) forget(replaced->session);
  };
  if (resumes) {
    Session& resumed = sessions_.at(resume_session);
    move_to(connection, holder, resumed);
    touch(connection, resume_session, now_us);
    forget_replaced();
    return Opened{resume_session, true, last_answered(resumed), replaced};
  }
  std::uint64_t id = 0;
  while (id == 0 || sessions_.contains(id)) id = random_();
  add(id, {.connection = connection,
           .principal = owner.principal,
           .holder = holder,
           .heard_us = awake_us,
           .last_sequence = first_sequence - 1,
           .is_used = false});
  forget_replaced();
  return Opened{id, false, first_sequence - 1, replaced};
}

/// Adds the session. Changes nothing if memory runs out.
void SessionTable::add(std::uint64_t id, Session session) {
  std::list<std::uint64_t> entry{id};
  std::size_t& of_principal = counts_[session.principal];
  std::size_t& of_holder = holder_counts_[session.holder];
  std::size_t& of_connection = connection_counts_[session.connection];
  session.number = last_number_ + 1;
  session.place = entry.begin();
  auto& list = list_of(session);
  sessions_.emplace(id, std::move(session));
  list.splice(list.end(), entry);
  ++last_number_;
  ++of_principal;
  ++of_holder;
  ++of_connection;
}

std::uint64_t SessionTable::last_answered(const Session& session) {
  const auto unanswered =
      std::ranges::find_if(session.sent, [](const Sent& sent) { return !sent.reply; });
  return session.last_sequence - static_cast<std::uint64_t>(session.sent.end() - unanswered);
}

bool SessionTable::has(zmtp::PrincipalId principal, std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.principal == principal;
}

std::size_t SessionTable::count_of(zmtp::PrincipalId principal) const {
  const auto found = counts_.find(principal);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t SessionTable::count_of(std::uint64_t connection) const {
  const auto found = connection_counts_.find(connection);
  return found == connection_counts_.end() ? 0 : found->second;
}

std::size_t SessionTable::count_of(const RequestOwner& holder) const {
  const auto found = holder_counts_.find(holder);
  return found == holder_counts_.end() ? 0 : found->second;
}

bool SessionTable::has_its_share(const RequestOwner& holder) const {
  constexpr std::size_t times_free = 3;
  const std::size_t free =
      limits_.sessions_max - std::min<std::size_t>(sessions_.size(), limits_.sessions_max);
  return count_of(holder) > times_free * free;
}

std::size_t SessionTable::most_of_connection() const {
  std::size_t most = 0;
  for (const auto& [connection, count] : connection_counts_)
    if (connection != no_connection) most = std::max(most, count);
  return most;
}

void SessionTable::forget(Sessions::iterator session) {
  list_of(session->second).erase(session->second.place);
  const auto count = counts_.find(session->second.principal);
  if (--count->second == 0) counts_.erase(count);
  count_out(session->second.holder);
  count_out(session->second.connection);
  sessions_.erase(session);
}

void SessionTable::move_to(std::uint64_t connection, const RequestOwner& holder, Session& session) {
  std::size_t& of_holder = holder_counts_[holder];
  ++connection_counts_[connection];
  ++of_holder;
  count_out(session.connection);
  count_out(session.holder);
  session.connection = connection;
  session.holder = holder;
}

void SessionTable::count_out(const RequestOwner& holder) {
  const auto count = holder_counts_.find(holder);
  if (--count->second == 0) holder_counts_.erase(count);
}

void SessionTable::count_out(std::uint64_t connection) {
  const auto count = connection_counts_.find(connection);
  if (--count->second == 0) connection_counts_.erase(count);
}

bool SessionTable::has_unanswered(std::uint64_t session) const {
  return has_arriving_(session) ||
         std::ranges::any_of(sessions_.at(session).sent,
                             [](const Sent& sent) { return !sent.reply; });
}

/// Returns the session that gives way to a new one; sessions_.end(): no session does.
SessionTable::Sessions::iterator SessionTable::session_to_replace(std::int64_t awake_us,
                                                                  const GivingWay& whose) {
  const auto may_give_way = [&](const Sessions::iterator& session) {
    return (!whose.principal || session->second.principal == *whose.principal) &&
           (!whose.holder || session->second.holder == *whose.holder) &&
           (!whose.connection || session->second.connection == *whose.connection);
  };
  for (const std::uint64_t id : unused_)
    if (const auto session = sessions_.find(id); may_give_way(session)) return session;
  for (const std::uint64_t id : used_) {
    const auto session = sessions_.find(id);
    if (!may_give_way(session)) continue;
    if (awake_us - session->second.heard_us < limits_.gives_way_us) break;
    if (!has_unanswered(id)) return session;
  }
  return sessions_.end();
}

bool SessionTable::end(std::uint64_t connection, std::uint64_t session) {
  if (!owns(connection, session)) return false;
  forget(sessions_.find(session));
  return true;
}

bool SessionTable::owns(std::uint64_t connection, std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.connection == connection;
}

bool SessionTable::touch(std::uint64_t connection, std::uint64_t session, std::int64_t now_us) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.connection != connection) return false;
  Session& touched = found->second;
  touched.heard_us = awake_.read(now_us);
  used_.splice(used_.end(), list_of(touched), touched.place);
  touched.is_used = true;
  return true;
}

std::vector<SessionTable::SessionState> SessionTable::export_state() const {
  std::vector<SessionState> states;
  for (const auto* const list : {&unused_, &used_})
    for (const std::uint64_t id : *list) {
      const Session& session = sessions_.at(id);
      states.push_back({.session = id,
                        .number = session.number,
                        .principal = session.principal,
                        .last_sequence = session.last_sequence,
                        .taken = session.taken,
                        .sent = {session.sent.begin(), session.sent.end()}});
    }
  return states;
}

void SessionTable::import_session(const SessionState& state, std::int64_t now_us) {
  restore(state.session, state.last_sequence + 1, now_us, state.principal);
  Session& session = sessions_.at(state.session);
  session.number = state.number;
  session.taken = state.taken;
  session.sent = {state.sent.begin(), state.sent.end()};
  while (session.sent.size() > limits_.replies_max) session.sent.pop_front();
  last_number_ = std::max(last_number_, state.number);
}

void SessionTable::restore(std::uint64_t session, std::uint64_t first_sequence, std::int64_t now_us,
                           zmtp::PrincipalId principal) {
  if (sessions_.contains(session)) return;
  add(session, {.connection = no_connection,
                .principal = principal,
                .holder = owner_of(principal, {}),
                .heard_us = awake_.read(now_us),
                .last_sequence = first_sequence - 1,
                .is_used = true});
}

void SessionTable::restore_begun(std::uint64_t session_id, std::uint64_t sequence,
                                 std::uint64_t body_hash) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  while (session.last_sequence + 1 < sequence) begin(session_id, session.last_sequence + 1, 0);
  if (session.last_sequence < sequence) return begin(session_id, sequence, body_hash);
  const std::uint64_t age = session.last_sequence - sequence;
  if (age < session.sent.size()) session.sent[session.sent.size() - 1 - age].body_hash = body_hash;
}

void SessionTable::forget(std::uint64_t session) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) forget(found);
}

std::vector<SessionTable::Forgotten> SessionTable::expire(std::int64_t now_us) {
  const std::int64_t awake_us = awake_.read(now_us);
  std::vector<Forgotten> expired;
  for (const auto& [id, session] : sessions_)
    if (awake_us - session.heard_us > limits_.idle_us) expired.push_back({id, session.number});
  for (const Forgotten& each : expired) forget(sessions_.find(each.session));
  return expired;
}

SessionTable::Admission SessionTable::admit(std::uint64_t session_id, std::uint64_t sequence,
                                            std::uint64_t body_hash) const {
  const Session& session = sessions_.at(session_id);
  Admission admission{
      .kind = Admission::Kind::fresh, .reply = nullptr, .expected = session.last_sequence + 1};
  if (sequence == admission.expected) return admission;
  if (sequence > admission.expected) {
    admission.kind = Admission::Kind::gap;
    return admission;
  }
  const std::uint64_t age = session.last_sequence - sequence;
  if (age >= session.sent.size()) {
    admission.kind = Admission::Kind::forgotten;
    return admission;
  }
  const Sent& sent = session.sent[session.sent.size() - 1 - age];
  if (sent.body_hash != body_hash) {
    admission.kind = Admission::Kind::different;
    return admission;
  }
  admission.kind = sent.reply ? Admission::Kind::resend : Admission::Kind::unanswered;
  admission.reply = sent.reply ? &*sent.reply : nullptr;
  return admission;
}

void SessionTable::begin(std::uint64_t session_id, std::uint64_t sequence,
                         std::uint64_t body_hash) {
  Session& session = sessions_.at(session_id);
  check_invariant(sequence == session.last_sequence + 1, "sequence numbers are used up in order");
  session.sent.push_back({body_hash, std::nullopt});
  session.last_sequence = sequence;
  if (session.sent.size() > limits_.replies_max) session.sent.pop_front();
}

std::uint64_t SessionTable::body_hash_of(std::uint64_t session, std::uint64_t sequence) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || sequence > found->second.last_sequence) return 0;
  const std::deque<Sent>& sent = found->second.sent;
  const std::uint64_t age = found->second.last_sequence - sequence;
  return age < sent.size() ? sent[sent.size() - 1 - age].body_hash : 0;
}

void SessionTable::take_back(std::uint64_t session_id, std::uint64_t sequence) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (session.sent.empty() || session.last_sequence != sequence || session.sent.back().reply)
    return;
  session.sent.pop_back();
  --session.last_sequence;
}

void SessionTable::answered(std::uint64_t session_id, std::uint64_t sequence,
                            SequencedReply reply) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  const std::uint64_t age = session.last_sequence - sequence;
  if (age >= session.sent.size()) return;
  session.sent[session.sent.size() - 1 - age].reply = std::move(reply);
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

std::uint64_t SessionTable::next_sequence(std::uint64_t connection, std::uint64_t session) const {
  return owns(connection, session) ? sessions_.at(session).last_sequence + 1 : 0;
}

std::uint64_t SessionTable::number_of(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.number;
}

}  // namespace starling::stream
