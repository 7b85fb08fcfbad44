// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler about principals: whom queries, streams, names and tags belong
// to, and the quotas of the keys file. Without a keys file, what a session makes belongs to it, and
// everybody may change it.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "starling/stream/access/accounts.hpp"
#include "starling/stream/limit_table.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::ErrorCode;

std::uint64_t RequestHandler::owner_of(const Caller& caller) const {
  return parts_.has_keys ? static_cast<std::uint64_t>(caller.principal->id) : caller.head.session;
}

/// Returns who takes a turn of the engine, and a share of the snapshots, with a request.
RequestOwner RequestHandler::payer_of(const Peer& peer) {
  using Kind = RequestOwner::Kind;
  if (peer.principal != zmtp::PrincipalId::anonymous)
    return {Kind::principal, static_cast<std::uint64_t>(peer.principal)};
  return {peer.in_process ? Kind::in_process : Kind::connection, peer.connection};
}

QueryOwner RequestHandler::query_owner(const Caller& caller) const {
  const Principal& principal = *caller.principal;
  return {.owner = owner_of(caller),
          .may_change_others = principal.has(Role::admin),
          .queries_max = principal.quotas.queries,
          .neighbors_max = principal.quotas.neighbors};
}

TagOwner RequestHandler::tag_owner(const Caller& caller) const {
  return {.owner = static_cast<std::uint32_t>(caller.principal->id),
          .may_change_others = caller.principal->has(Role::admin)};
}

/// Returns the refusal of a request that would change or remove a stream of another owner.
std::optional<protocol::ErrorReply> RequestHandler::refusal_of_owner(const Caller& caller,
                                                                     StreamId stream) const {
  const StreamDefinition& definition = parts_.tables.processor().queries().stream(stream);
  const QueryOwner owner = query_owner(caller);
  if (owner.may_change_others || definition.owner == owner.owner) return std::nullopt;
  return protocol::ErrorReply{
      {ErrorCode::not_allowed,
       "The stream \"" + definition.name +
           "\" belongs to another principal, and only that one or an admin may change or remove "
           "it; make a stream of another name, or ask the server's owner to add the role admin to "
           "\"" +
           caller.principal->name + "\" in the keys file."},
      0};
}

std::uint64_t& RequestHandler::streams_taken(const Caller& caller) {
  return parts_.has_keys ? accounts_.of(caller.principal->id).streams
                         : sessions_.taken(caller.head.session).streams;
}

/// Returns the limit that forbids the caller a further stream; std::nullopt: none does.
std::optional<protocol::ReachedLimit> RequestHandler::stream_limit(const Caller& caller) {
  const auto& quota = caller.principal->quotas.streams;
  const std::uint64_t taken = streams_taken(caller);
  if (taken < quota.value_or(options_.sessions.streams_max)) return std::nullopt;
  return quota ? reached_quota("streams", *quota) : reached("session-streams-max", options_);
}

void RequestHandler::audit_refusal(const Caller& caller, std::string_view what) {
  const std::string_view name = caller.principal ? std::string_view(caller.principal->name) : "";
  parts_.audit.refused(name, caller.request, what, caller.peer.connection);
}

/// Tells the audit log of the rows that were rejected for want of rights.
void RequestHandler::audit_rows(const Caller& caller, const protocol::BatchReply& reply) {
  using protocol::RowReason;
  for (const protocol::ReasonCount& each : reply.reasons)
    if (each.reason == RowReason::not_allowed || each.reason == RowReason::not_owner)
      audit_refusal(caller, std::to_string(each.count) +
                                " rows rejected: " + std::string(to_string(each.reason)));
}

/// Gives a new request the problem `busy` if its principal has used up the loop's time or the rows
/// of a second. The client sends it again, with the same number. Returns whether it did.
bool RequestHandler::refuse_beyond_rates(const Caller& caller, PreparedRequest& request) {
  if (request.request.problem || !caller.principal) return false;
  const Quotas& quotas = caller.principal->quotas;
  if (!quotas.loop_ms_per_second && !quotas.rows_per_second) return false;
  if (request.request.sequenced) {
    const auto& head = caller.head;
    const auto kind = sessions_.admit(head.session, head.sequence, request.request.hash).kind;
    if (kind != SessionTable::Admission::Kind::fresh) return false;
  }
  request.request.problem = beyond_loop_time(caller);
  if (!request.request.problem && request.request.sequenced)
    request.request.problem = beyond_rows(caller, request);
  return request.request.problem.has_value();
}

std::optional<protocol::Problem> RequestHandler::beyond_loop_time(const Caller& caller) {
  const std::int64_t wait_us = accounts_.loop_wait_us(*caller.principal, parts_.executor.now_us());
  if (wait_us == 0) return std::nullopt;
  auto quota = reached_quota("loop_ms_per_second", *caller.principal->quotas.loop_ms_per_second);
  std::string sentence = "The requests of \"" + caller.principal->name +
                         "\" have taken as much of the server's time as " + to_string(quota) +
                         " allows; send this one and all after it again in " +
                         std::to_string(wait_us / 1000 + 1) + " ms, or " +
                         quota_text(*caller.principal, quota) + ".";
  return protocol::Problem{ErrorCode::busy, std::move(sentence), std::move(quota)};
}

/// Takes the rows of the request from the quota, if it is not used up.
std::optional<protocol::Problem> RequestHandler::beyond_rows(const Caller& caller,
                                                             const PreparedRequest& request) {
  const std::uint64_t rows = protocol::credit_rows(request.request.body);
  const std::int64_t wait_us = accounts_.wait_us(*caller.principal, rows, parts_.executor.now_us());
  if (wait_us == 0) return std::nullopt;
  auto quota = reached_quota("rows_per_second", *caller.principal->quotas.rows_per_second);
  std::string sentence = "\"" + caller.principal->name + "\" has sent as many rows as " +
                         to_string(quota) + " allows; send this batch and all after it again in " +
                         std::to_string(wait_us / 1000 + 1) + " ms, or " +
                         quota_text(*caller.principal, quota) + ".";
  return protocol::Problem{ErrorCode::busy, std::move(sentence), std::move(quota)};
}

/// Charges the principal for its share of a group's rows.
void RequestHandler::charge_update(const Caller& caller, std::size_t rows,
                                   const GroupOutcome& outcome) {
  const auto& principal = caller.principal;
  if (!principal || !principal->quotas.loop_ms_per_second) return;
  const double share =
      static_cast<double>(rows) / static_cast<double>(std::max<std::size_t>(outcome.rows, 1));
  accounts_.charge_loop(*principal,
                        static_cast<std::int64_t>(share * static_cast<double>(outcome.took_us)),
                        parts_.executor.now_us());
}

/// Returns the refusal of a Hello for which no session gives way.
protocol::Problem RequestHandler::beyond_sessions(const Caller& caller) {
  const std::uint64_t connection = caller.peer.connection;
  const auto& quota_sessions = caller.principal->quotas.sessions;
  if (quota_sessions && sessions_.count_of(caller.principal->id) >= *quota_sessions)
    return beyond_session_quota(caller);
  if (!caller.peer.in_process &&
      sessions_.count_of(connection) >= options_.sessions.connection_sessions_max) {
    auto limit = reached("connection-sessions-max", options_);
    return {ErrorCode::too_many_sessions,
            "This connection has as many sessions as " + to_string(limit) +
                " allows, and all are in use; use one of them for several streams and objects, end "
                "one with EndSession, or open another connection.",
            std::move(limit)};
  }
  auto limit = reached("sessions-max", options_);
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

protocol::Problem RequestHandler::beyond_session_quota(const Caller& caller) {
  auto quota = reached_quota("sessions", caller.principal->quotas.sessions.value_or(0));
  std::string sentence = "\"" + caller.principal->name + "\" has as many sessions as " +
                         to_string(quota) +
                         " allows, and all are in use; end one with EndSession, continue one with "
                         "resume_session, or " +
                         quota_text(*caller.principal, quota) + ".";
  return {ErrorCode::too_many_sessions, std::move(sentence), std::move(quota)};
}

/// Returns the refusal of a snapshot that would need `more_bytes`, if they are beyond the quota of
/// the principal.
std::optional<protocol::Problem> RequestHandler::beyond_snapshots(const Caller& caller,
                                                                  std::uint64_t more_bytes) {
  const auto& quota_bytes = caller.principal->quotas.snapshot_bytes;
  if (!quota_bytes) return std::nullopt;
  const std::uint64_t held = snapshots_.bytes_of(caller.principal->id);
  if (more_bytes == 0 ? held < *quota_bytes : held + more_bytes <= *quota_bytes)
    return std::nullopt;
  auto quota = reached_quota("snapshot_bytes", *quota_bytes);
  std::string sentence = "The snapshots of \"" + caller.principal->name + "\" would exceed " +
                         to_string(quota) +
                         "; read the last page of those that you have begun, ask for fewer "
                         "queries, or " +
                         quota_text(*caller.principal, quota) + ".";
  // A snapshot that never fits must not be asked for again and again.
  const bool may_fit_later = held > 0 && more_bytes <= *quota_bytes;
  return protocol::Problem{may_fit_later ? ErrorCode::busy : ErrorCode::too_many_rows,
                           std::move(sentence), std::move(quota)};
}

}  // namespace starling::stream
