// SPDX-License-Identifier: Apache-2.0
// The common functions of RequestHandler. They pass each request to object_updates.cpp,
// sequenced_requests.cpp, other_requests.cpp or read_requests.cpp, refuse a request that none of
// these can handle, and forget idle sessions and snapshots.
#include "starling/stream/request_handler.hpp"

#include <new>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/access/rights.hpp"
#include "starling/stream/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;

RequestHandler::RequestHandler(const ServerOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      sessions_(options.sessions, parts_.random,
                [this](std::uint64_t session) { return parts_.credit.has_taken(session); }),
      guesses_(options.guesses),
      log_lines_(options.log_lines),
      snapshots_(options.snapshots),
      pages_(options.pages),
      searches_(options.searches_max),
      beside_(parts_.executor, 1) {}

RequestHandler::~RequestHandler() = default;

void RequestHandler::handle(const Peer& peer, PreparedRequest request) {
  const protocol::DecodedRequest& decoded = request.request;
  Caller caller{peer, decoded.head, request.principal, name_of(decoded.body)};
  if (!decoded.sequenced) caller.head.sequence = 0;
  const std::uint64_t session = caller.head.session;
  const std::int64_t now_us = parts_.executor.now_us();
  const bool is_known = sessions_.touch(peer.connection, session, now_us);
  // Decoding reports the error `busy` only if memory runs out.
  if (decoded.problem && decoded.problem->code == ErrorCode::busy)
    parts_.metrics.decode_out_of_memory();
  const bool is_beyond_rates =
      is_known && (refuse_beyond_rates(caller, request) || refuse_without_log(caller, request));

  if (decoded.sequenced && is_known) {
    try {
      if (add_update(caller, request)) return;
    } catch (const std::bad_alloc&) {  // nothing was changed
      parts_.credit.give_back(session, request.credit);
      return refuse(caller, protocol::out_of_memory());
    }
  }
  parts_.tables
      .settled();  // updates that came before this request are applied and answered before it
  try {
    // Who asks again too soon is not charged, or would never come to an end.
    if (is_beyond_rates)
      handle_settled(caller, request, is_known);
    else
      charged(caller, [&] { handle_settled(caller, request, is_known); });
  } catch (const std::bad_alloc&) {
    refuse_for_memory(caller);
  }
  parts_.credit.give_back(session, request.credit);
}

void RequestHandler::refuse_for_memory(const Caller& caller) {
  if (caller.head.sequence != 0) check_memory_for_log();
  sessions_.take_back(caller.head.session, caller.head.sequence);
  if (may_log(caller.peer))
    spdlog::warn("session {} request {}: memory ran out", sessions_.number_of(caller.head.session),
                 caller.head.request_id);
  refuse(caller, protocol::out_of_memory());
}

void RequestHandler::handle_settled(const Caller& caller, PreparedRequest& request, bool is_known) {
  const protocol::DecodedRequest& decoded = request.request;
  const std::uint64_t session = caller.head.session;
  const std::int64_t now_us = parts_.executor.now_us();
  // Whether another connection's session exists or has credit is not this connection's business.
  const bool is_of_session =
      decoded.problem && (decoded.problem->code == ErrorCode::out_of_credit ||
                          decoded.problem->code == ErrorCode::unknown_session ||
                          (decoded.problem->code == ErrorCode::not_allowed &&
                           !std::holds_alternative<protocol::Hello>(decoded.body)));
  if (decoded.sequenced && is_known) {
    handle_sequenced(caller, request);
  } else if (!is_known && has_guessed_too_often(caller, session)) {
    refuse_guess(caller);
  } else if (decoded.problem && (is_known || !is_of_session)) {
    refuse(caller, *decoded.problem);
  } else if (is_known ||
             (!decoded.problem && std::holds_alternative<protocol::Hello>(decoded.body))) {
    handle_other(caller, request);
  } else {
    if (session != 0) guesses_.take(caller.peer.connection, now_us);
    refuse(caller, unknown_session());
  }
}

void RequestHandler::refuse_malformed(const Peer& peer, const std::string& sentence) {
  refuse({peer, {}}, ErrorCode::malformed, sentence);
}

bool RequestHandler::has_guessed_too_often(const Caller& caller, std::uint64_t session) const {
  return session != 0 && !guesses_.has_token(caller.peer.connection, parts_.executor.now_us());
}

void RequestHandler::refuse_guess(const Caller& caller) {
  parts_.metrics.guess_refused();
  auto limit = reached("unknown-sessions-burst", options_);
  refuse(caller,
         {ErrorCode::busy,
          "This connection has named as many sessions that are not its own as " + to_string(limit) +
              " allows; wait a second, or send Hello without resume_session to open a "
              "session.",
          std::move(limit)});
}

bool RequestHandler::may_log(const Peer& peer) {
  if (log_lines_.take(peer.connection, parts_.executor.now_us())) return true;
  parts_.metrics.log_line_left_out();
  return false;
}

protocol::ReachedLimit RequestHandler::limit_of(protocol::RowReason reason,
                                                const Caller& caller) const {
  using protocol::RowReason;
  if (auto quota = reached_quota(reason, *caller.principal); !quota.name.empty()) return quota;
  const bool is_of_memory =
      reason == RowReason::too_many_objects || reason == RowReason::too_many_queries ||
      reason == RowReason::too_many_neighbors || reason == RowReason::too_many_names;
  if (parts_.tables.growth().is_short() && is_of_memory)
    return reached("memory-bytes-max", options_);
  return reached(reason, options_);
}

void RequestHandler::expire(std::int64_t now_us) {
  parts_.tables.settled();
  for (const auto& [session, number] : sessions_.expire(now_us)) {
    spdlog::info("session {} closed: it was idle", number);
    record_end_of_session(session);
    forget_session(session);
  }
  guesses_.expire(now_us);
  log_lines_.expire(now_us);
  snapshots_.expire(now_us);
}

void RequestHandler::forget_session(std::uint64_t session) {
  parts_.credit.close(session);
  snapshots_.drop_session(session);
  pages_.drop_session(session);
  losses_.drop_session(session);
}

void RequestHandler::refuse(const Caller& caller, ErrorCode code, std::string sentence) {
  refuse(caller, {code, std::move(sentence)});
}

void RequestHandler::refuse(const Caller& caller, protocol::Problem problem) {
  parts_.metrics.refused(problem.code);
  if (problem.code == ErrorCode::not_allowed) audit_refusal(caller, problem.sentence);
  if (spdlog::should_log(spdlog::level::debug) && may_log(caller.peer))
    spdlog::debug("session {} request {}: {}", sessions_.number_of(caller.head.session),
                  caller.head.request_id, problem.sentence);
  const protocol::ErrorReply reply{
      std::move(problem), sessions_.next_sequence(caller.peer.connection, caller.head.session)};
  parts_.send(caller.peer, protocol::encode_error(caller.reply_head(), reply));
}

protocol::ErrorReply RequestHandler::unknown_stream(std::string_view stream) const {
  return {{ErrorCode::unknown_stream, "This server has no stream \"" + std::string(stream) +
                                          "\". Check the name, or make the stream first: with the "
                                          "command starling put stream NAME, or "
                                          "in a program with the request PutStream."},
          0};
}

std::optional<protocol::Problem> RequestHandler::fault_of_stream(std::string_view stream) {
  if (parts_.tables.settled().queries().find_stream(stream)) return std::nullopt;
  return unknown_stream(stream).problem;
}

}  // namespace starling::stream
