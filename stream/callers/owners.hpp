// SPDX-License-Identifier: Apache-2.0
// The owners of queries, streams, names and tags, and the quotas of the keys file. With a keys
// file, principals own what they make. Without one, sessions own what they make, and every client
// may change it.
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

/// Only the loop calls the functions. A Caller without a principal may only be given to
/// beyond_rates() and the functions that charge.
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

  /// Returns the number of the principal or session that owns what the caller makes.
  std::uint64_t owner_of(const Caller& caller) const;
  QueryOwner query_owner(const Caller& caller) const;
  TagOwner tag_owner(const Caller& caller) const;
  /// `of_ended_session` counts the names of a request that outlives its session.
  NameTable::Teller name_teller(const Caller& caller, std::uint64_t& of_ended_session);

  /// Returns the refusal of a request that would change or remove a stream of another owner.
  std::optional<protocol::Problem> refusal_of_owner(const Caller& caller, StreamId stream) const;
  /// Returns the limit that forbids the caller a further stream; std::nullopt: it may make one.
  std::optional<protocol::ReachedLimit> stream_limit(const Caller& caller);
  /// Counts a stream that the caller has made.
  void take_stream(const Caller& caller) { ++streams_taken(caller); }
  /// Call it when a stream of this owner is removed.
  void give_back_stream(std::uint64_t owner);

  /// Returns the problem `busy` if the principal has used up its loop_ms_per_second, or if a fresh
  /// request finds rows_per_second used up: the client sends the request again, with the same
  /// number. Returns `too_many_rows`, which uses the number up, if no waiting would let the request
  /// pass. Otherwise takes the rows of a fresh request.
  std::optional<protocol::Problem> beyond_rates(const Caller& caller,
                                                const protocol::RequestBody& body, bool is_fresh);
  /// Charges the principal for its share of the time of a group of updates: `rows` of all rows.
  void charge_update(const Caller& caller, std::size_t rows, const GroupOutcome& outcome);
  /// Charges the caller's principal for time that the request took elsewhere, such as its decoding
  /// or the engine's.
  void charge(const Caller& caller, std::int64_t us) {
    if (caller.principal) accounts_.charge_loop(*caller.principal, us, executor_.now_us());
  }
  /// The same for a request that is refused (Accounts::charge_refusal).
  void charge_refusal(const Caller& caller, std::int64_t us) {
    if (caller.principal) accounts_.charge_refusal(*caller.principal, us, executor_.now_us());
  }
  /// Returns how long no more is read of the principal's connections (Accounts::rest_us).
  std::int64_t rest_us(PrincipalId principal) const {
    return has_keys_ ? accounts_.rest_us(principal, executor_.now_us()) : 0;
  }
  /// Runs the function, and charges the caller's principal for the loop's time. If calls are
  /// nested, only the outermost charges. `is_refusal`: the function refuses the request.
  template <class Function>
  void charged(const Caller& caller, const Function& function, bool is_refusal = false) {
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
    const std::int64_t took_us = loop_us() - since_us;
    is_refusal ? charge_refusal(caller, took_us) : charge(caller, took_us);
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
  bool is_charging_ = false;
};

}  // namespace starling::stream
