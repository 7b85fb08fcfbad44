// SPDX-License-Identifier: Apache-2.0
// Whom queries, streams, names and tags belong to, and what a principal may take of the server: the
// quotas of the keys file. Without a keys file, what a session makes belongs to it, and every
// client may change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions. Their callers have a principal.
class Owners {
 public:
  /// `has_keys`: the server has a keys file.
  Owners(const ServerOptions& options, bool has_keys, Executor& executor, Tables& tables,
         SessionTable& sessions)
      : options_(options),
        has_keys_(has_keys),
        executor_(executor),
        tables_(tables),
        sessions_(sessions) {}

  bool has_keys() const { return has_keys_; }
  Accounts& accounts() { return accounts_; }

  /// Returns the number of the owner of what the caller makes: its principal or its session.
  std::uint64_t owner_of(const Caller& caller) const;
  QueryOwner query_owner(const Caller& caller) const;
  TagOwner tag_owner(const Caller& caller) const;
  NameTable::Teller name_teller(const Caller& caller);

  /// Returns the refusal of a request that would change or remove a stream of another owner.
  std::optional<protocol::Problem> refusal_of_owner(const Caller& caller, StreamId stream) const;
  /// Returns the limit that forbids the caller a further stream; std::nullopt: none does.
  std::optional<protocol::ReachedLimit> stream_limit(const Caller& caller);
  /// Counts a stream that the caller has made.
  void take_stream(const Caller& caller) { ++streams_taken(caller); }
  /// Counts a stream of this owner that is removed.
  void give_back_stream(std::uint64_t owner);

  /// Returns the problem `busy` if the principal has used up the loop's time or, for a fresh
  /// request that changes something, the rows of a second. Takes the rows otherwise. The client
  /// sends the request again, with the same number.
  std::optional<protocol::Problem> beyond_rates(const Caller& caller,
                                                const protocol::RequestBody& body, bool is_fresh);
  /// Charges the principal for its share of a group's time.
  void charge_update(const Caller& caller, std::size_t rows, const GroupOutcome& outcome);
  /// Runs the function, and charges the caller's principal for the time of the loop. Within another
  /// call, only that one charges.
  template <class Function>
  void charged(const Caller& caller, const Function& function) {
    const bool has_quota = caller.principal && caller.principal->quotas.loop_ms_per_second;
    if (!has_quota || is_charging_) return function();
    const std::int64_t since_us = loop_us();
    is_charging_ = true;
    try {
      function();
    } catch (...) {
      is_charging_ = false;
      throw;
    }
    is_charging_ = false;
    accounts_.charge_loop(*caller.principal, loop_us() - since_us, executor_.now_us());
  }

 private:
  std::uint64_t& streams_taken(const Caller& caller);
  std::int64_t loop_us() const { return executor_.now_us() - tables_.waited_us(); }
  std::optional<protocol::Problem> beyond_loop_time(const Caller& caller);
  std::optional<protocol::Problem> beyond_rows(const Caller& caller, std::uint64_t rows);

  const ServerOptions& options_;
  const bool has_keys_;
  Executor& executor_;
  Tables& tables_;
  SessionTable& sessions_;
  Accounts accounts_;
  std::uint64_t names_of_ended_session_ = 0;
  bool is_charging_ = false;
};

}  // namespace starling::stream
