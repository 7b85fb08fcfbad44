// SPDX-License-Identifier: Apache-2.0
// Opens, resumes and ends sessions, and logs each of these: see session_requests.hpp.
#include "starling/stream/requests/session_requests.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/operation/limit_table.hpp"
#include "starling/stream/requests/prepare.hpp"

namespace starling::stream {

using protocol::ErrorCode;

/// Takes a token for a Hello, and returns true if there was none. Each Hello may become a record of
/// the log, and rows_per_second counts no sessions.
bool SessionRequests::says_hello_too_often(const Caller& caller) {
  return !hellos_.take(RequestOwnerHash()(payer_of(caller.peer).owner), executor_.now_us());
}

void SessionRequests::hello(const Caller& caller, const protocol::Hello& request) {
  if (says_hello_too_often(caller)) {
    auto limit = reached("hellos-burst", options_);
    return replies_.refuse(caller, {ErrorCode::busy,
                                    "As many sessions were begun at once as " + to_string(limit) +
                                        " allows; send Hello again in a second, and use one "
                                        "session for many requests.",
                                    std::move(limit)});
  }
  const std::uint64_t connection = caller.peer.connection;
  const std::uint64_t resumed = request.resume_session;
  const std::int64_t now_us = executor_.now_us();
  const PrincipalId principal = caller.principal->id;
  if (resumed != 0 && !sessions_.owns(connection, resumed)) {
    if (has_guessed_too_often(caller, resumed)) return refuse_guess(caller);
    if (!sessions_.has(principal, resumed)) guesses_.take(connection, now_us);
  }
  const Journal* const journal = log_.journal();
  // The reply would have the number of a request that is not on the disk yet.
  if (sessions_.has(principal, resumed) && log_.has(resumed) && journal != nullptr &&
      journal->commits().is_full() && !journal->commits().is_durable(journal->end()))
    return replies_.refuse(caller, ErrorCode::busy, *journal->commits().refusal());
  const auto opened = sessions_.open(
      connection, resumed, request.first_sequence, now_us,
      {.principal = principal,
       .address = caller.peer.address,
       .sessions_max = caller.principal->quotas.sessions.value_or(options_.sessions.sessions_max),
       .has_connection = caller.peer.has_connection()});
  if (!opened) return replies_.refuse(caller, beyond_sessions(caller));
  log_.record_begin_of_session(caller, *opened, request.first_sequence);
  if (opened->replaced) {
    if (replies_.may_log(caller.peer))
      spdlog::info("session {} closed: it was silent, and a new session takes its place",
                   opened->replaced->number);
    stores_.forget(opened->replaced->session);
  }
  stores_.credit->open(opened->session);
  if (replies_.may_log(caller.peer))
    spdlog::info("session {} {} by \"{}\"", sessions_.number_of(opened->session),
                 opened->resumed ? "resumed" : "opened", request.client);
  const protocol::Frame frame =
      protocol::encode_hello_reply(caller.reply_head(), reply_to(caller, *opened));
  log_.has(opened->session) ? replies_.sender().send_when_logged(caller.peer, frame)
                            : replies_.sender().send_without_record(caller.peer, frame);
}

protocol::HelloReply SessionRequests::reply_to(const Caller& caller,
                                               const SessionTable::Opened& opened) const {
  protocol::Limits limits = options_.limits;
  limits.rows_max = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(limits.rows_max, Accounts::batch_rows_max(*caller.principal)));
  return {.session = opened.session,
          .resumed = opened.resumed,
          .last_sequence = opened.last_sequence,
          .epoch = publisher_.epoch(),
          .server = options_.server_name,
          .space = tables_.settled().options().space,
          .manual_ticks = tables_.time().is_manual(),
          .limits = limits,
          .session_idle_ms = static_cast<std::uint64_t>(options_.sessions.idle_us / 1000),
          .runs = log_.runs(),
          .next_sequence = log_.journal() == nullptr
                               ? 0
                               : sessions_.next_sequence(caller.peer.connection, opened.session),
          .results = options_.results_endpoint};
}

void SessionRequests::end(const Caller& caller) {
  const std::uint64_t session = caller.head.session;
  const std::uint64_t number = sessions_.number_of(session);
  sessions_.end(caller.peer.connection, session);
  stores_.forget(session);
  const bool is_recorded = log_.has(session);
  log_.record_end_of_session(session);
  if (replies_.may_log(caller.peer)) spdlog::info("session {} ended by its client", number);
  const protocol::Frame frame = protocol::encode_done(caller.reply_head());
  is_recorded ? replies_.sender().send_when_logged(caller.peer, frame)
              : replies_.sender().send_without_record(caller.peer, frame);
}

void SessionRequests::refuse_unknown(const Caller& caller) {
  if (caller.head.session != 0) guesses_.take(caller.peer.connection, executor_.now_us());
  replies_.refuse(caller, unknown_session());
}

bool SessionRequests::has_guessed_too_often(const Caller& caller, std::uint64_t session) const {
  return session != 0 && !guesses_.has_token(caller.peer.connection, executor_.now_us());
}

void SessionRequests::refuse_guess(const Caller& caller) {
  metrics_.guess_refused();
  auto limit = reached("unknown-sessions-burst", options_);
  replies_.refuse(
      caller,
      {ErrorCode::busy,
       "This connection has named as many sessions that are not its own as " + to_string(limit) +
           " allows; wait a second, or send Hello without resume_session to open a "
           "session.",
       std::move(limit)});
}

/// Returns the refusal of a Hello if there are too many sessions and no session gives way.
protocol::Problem SessionRequests::beyond_sessions(const Caller& caller) const {
  const auto& quota_sessions = caller.principal->quotas.sessions;
  if (quota_sessions && sessions_.count_of(caller.principal->id) >= *quota_sessions) {
    auto quota = reached_quota("sessions", *quota_sessions);
    std::string sentence = "\"" + caller.principal->name + "\" has as many sessions as " +
                           to_string(quota) +
                           " allows, and all are in use; end one with EndSession, continue one "
                           "with resume_session, or " +
                           quota_text(*caller.principal, quota) + ".";
    return {ErrorCode::too_many_sessions, std::move(sentence), std::move(quota)};
  }
  if (caller.peer.has_connection() &&
      sessions_.count_of(caller.peer.connection) >= options_.sessions.connection_sessions_max) {
    auto limit = reached("connection-sessions-max", options_);
    return {ErrorCode::too_many_sessions,
            "This connection has as many sessions as " + to_string(limit) +
                " allows, and all are in use; use one of them for several streams and objects, end "
                "one with EndSession, or open another connection.",
            std::move(limit)};
  }
  auto limit = reached("sessions-max", options_);
  if (sessions_.count() < options_.sessions.sessions_max)
    return {ErrorCode::too_many_sessions,
            "You have more than three times as many sessions as are left of " + to_string(limit) +
                ", and all are in use; what is left is for others. End one with EndSession, "
                "continue one with resume_session, or start the server with a larger "
                "--sessions-max.",
            std::move(limit)};
  return {ErrorCode::too_many_sessions,
          "There are as many sessions as " + to_string(limit) +
              " allows, and all are in use; send Hello again later (a session "
              "gives way when it was silent for " +
              std::to_string(std::min(options_.sessions.gives_way_us, options_.sessions.idle_us) /
                             1'000'000) +
              " s), or continue one of yours with resume_session, or start the "
              "server with a larger --sessions-max.",
          std::move(limit)};
}

void SessionRequests::expire(std::int64_t now_us) {
  for (const auto& [session, number] : sessions_.expire(now_us)) {
    spdlog::info("session {} closed: it was idle", number);
    log_.record_end_of_session(session);
    stores_.forget(session);
  }
  guesses_.expire(now_us);
  hellos_.expire(now_us);
}

}  // namespace starling::stream
