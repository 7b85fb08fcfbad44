// SPDX-License-Identifier: Apache-2.0
// The owners of what requests make, and the refusals when a quota is used up: see owners.hpp.
#include "starling/stream/callers/owners.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;
using protocol::RowReason;

std::uint64_t Owners::owner_of(const Caller& caller) const {
  return has_keys_ ? static_cast<std::uint64_t>(caller.principal->id) : caller.head.session;
}

QueryOwner Owners::query_owner(const Caller& caller) const {
  const Principal& principal = *caller.principal;
  return {.owner = owner_of(caller),
          .may_change_others = principal.has(Role::admin),
          .queries_max = principal.quotas.queries,
          .neighbors_max = principal.quotas.neighbors};
}

TagOwner Owners::tag_owner(const Caller& caller) const {
  return {.owner = static_cast<std::uint32_t>(caller.principal->id),
          .may_change_others = caller.principal->has(Role::admin)};
}

NameTable::Teller Owners::name_teller(const Caller& caller, std::uint64_t& of_ended_session) {
  const std::uint64_t session = caller.head.session;
  const Principal& principal = *caller.principal;
  std::uint64_t& taken = has_keys_                     ? accounts_.of(principal.id).names
                         : sessions_.contains(session) ? sessions_.taken(session).names
                                                       : of_ended_session;
  const auto& quota = principal.quotas.names;
  return {.names = taken,
          .names_max = quota.value_or(options_.sessions.names_max),
          .too_many =
              quota ? RowReason::too_many_names_of_principal : RowReason::too_many_names_of_session,
          .owner = static_cast<std::uint32_t>(principal.id),
          .may_change_others = principal.has(Role::admin)};
}

std::optional<protocol::Problem> Owners::refusal_of_owner(const Caller& caller,
                                                          StreamId stream) const {
  const StreamDefinition& definition = tables_.processor().queries().stream(stream);
  const QueryOwner owner = query_owner(caller);
  if (owner.may_change_others || definition.owner == owner.owner) return std::nullopt;
  return protocol::Problem{
      ErrorCode::not_allowed,
      "The stream \"" + definition.name +
          "\" belongs to another principal, and only that one or an admin may change or remove "
          "it; make a stream of another name, or ask the server's owner to add the role admin to "
          "\"" +
          caller.principal->name + "\" in the keys file."};
}

std::uint64_t& Owners::streams_taken(const Caller& caller) {
  return has_keys_ ? accounts_.of(caller.principal->id).streams
                   : sessions_.taken(caller.head.session).streams;
}

std::optional<protocol::ReachedLimit> Owners::stream_limit(const Caller& caller) {
  const auto& quota = caller.principal->quotas.streams;
  const std::uint64_t taken = streams_taken(caller);
  if (taken < quota.value_or(options_.sessions.streams_max)) return std::nullopt;
  return quota ? reached_quota("streams", *quota) : reached("session-streams-max", options_);
}

void Owners::give_back_stream(std::uint64_t owner) {
  if (has_keys_)
    accounts_.give_back_stream(static_cast<PrincipalId>(owner));
  else
    sessions_.give_back_stream(owner);
}

std::optional<protocol::Problem> Owners::beyond_rates(const Caller& caller,
                                                      const protocol::RequestBody& body,
                                                      bool is_fresh) {
  if (!caller.principal) return std::nullopt;
  const Quotas& quotas = caller.principal->quotas;
  if (!quotas.loop_ms_per_second) accounts_.forget_loop(caller.principal->id);
  if (!quotas.loop_ms_per_second && !quotas.rows_per_second) return std::nullopt;
  if (protocol::is_sequenced(body) && !is_fresh) return std::nullopt;
  if (auto problem = beyond_loop_time(caller)) return problem;
  return is_fresh ? beyond_rows(caller, protocol::credit_rows(body)) : std::nullopt;
}

std::optional<protocol::Problem> Owners::beyond_loop_time(const Caller& caller) {
  const std::int64_t wait_us = accounts_.loop_wait_us(*caller.principal, executor_.now_us());
  if (wait_us == 0) return std::nullopt;
  auto quota = reached_quota("loop_ms_per_second", *caller.principal->quotas.loop_ms_per_second);
  std::string sentence = "The requests of \"" + caller.principal->name +
                         "\" have taken as much of the server's time as " + to_string(quota) +
                         " allows; send this one and all after it again in " +
                         std::to_string(wait_us / 1000 + 1) + " ms, or " +
                         quota_text(*caller.principal, quota) + ".";
  return protocol::Problem{ErrorCode::busy, std::move(sentence), std::move(quota)};
}

/// Takes the rows from the quota. If the quota is used up, or can never be enough, takes nothing
/// and returns the refusal.
std::optional<protocol::Problem> Owners::beyond_rows(const Caller& caller, std::uint64_t rows) {
  const std::uint64_t rows_max = Accounts::batch_rows_max(*caller.principal);
  if (rows > rows_max) {
    auto quota = reached_quota("rows_per_second", *caller.principal->quotas.rows_per_second);
    std::string sentence = "This batch has " + std::to_string(rows) + " rows, and " +
                           to_string(quota) + " allows " + std::to_string(rows_max) +
                           " at once; send several batches, or " +
                           quota_text(*caller.principal, quota) + ".";
    return protocol::Problem{ErrorCode::too_many_rows, std::move(sentence), std::move(quota)};
  }
  const std::int64_t wait_us = accounts_.wait_us(*caller.principal, rows, executor_.now_us());
  if (wait_us == 0) return std::nullopt;
  auto quota = reached_quota("rows_per_second", *caller.principal->quotas.rows_per_second);
  std::string sentence = "\"" + caller.principal->name + "\" has sent as many rows as " +
                         to_string(quota) + " allows; send this batch and all after it again in " +
                         std::to_string(wait_us / 1000 + 1) + " ms, or " +
                         quota_text(*caller.principal, quota) + ".";
  return protocol::Problem{ErrorCode::busy, std::move(sentence), std::move(quota)};
}

void Owners::charge_update(const Caller& caller, std::size_t rows, const GroupOutcome& outcome) {
  const auto& principal = caller.principal;
  if (!principal || !principal->quotas.loop_ms_per_second) return;
  const double share =
      static_cast<double>(rows) / static_cast<double>(std::max<std::size_t>(outcome.rows, 1));
  accounts_.charge_loop(*principal,
                        static_cast<std::int64_t>(share * static_cast<double>(outcome.took_us)),
                        executor_.now_us());
}

}  // namespace starling::stream
