// SPDX-License-Identifier: Apache-2.0
// Takes requests in the order of their arrival: checks session and sequence number, refuses
// requests that are not allowed now, and passes the others to their families. It uses no socket
// itself. ServerCore owns it and calls it on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "starling/stream/callers/callers.hpp"
#include "starling/stream/recovery/log_replay.hpp"
#include "starling/stream/requests/families.hpp"
#include "starling/stream/requests/prepare.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Requests {
 public:
  Requests(const ServerOptions& options, Callers::Parts callers, Families::Parts families);

  /// Call handle() for the requests in the order of their arrival. Each request gets one reply,
  /// either at once or when the request's tick, search or copy of lists has finished. There are two
  /// exceptions: if AdvanceTick is sent again before its tick has finished, only the last one sent
  /// gets a reply; and a reply is dropped if too many bytes wait for the log. handle() only adds
  /// updates of objects to Tables. Apply them before the loop does anything else.
  void handle(const Peer& peer, PreparedRequest request);
  /// Returns how long no more is read of the principal's connections (Accounts::rest_us).
  std::int64_t rest_us(PrincipalId principal) const { return callers_.owners.rest_us(principal); }
  /// Replies with an Error to a message that is not a request. `us`: what its reading has cost.
  void refuse_malformed(const Peer& peer, std::shared_ptr<const Principal> principal,
                        std::int64_t us);

  /// Returns the tables that the recovery fills from the server's log. `principal_id` returns the
  /// id of the principal of this name.
  LoggedTables logged_tables(Publisher& publisher,
                             std::function<PrincipalId(const std::string& name)> principal_id);
  /// Finishes the ticks that were under way at the end of the log, and keeps the replies to their
  /// requests for resends. `lacks_lists`: the lists of the last tick were not made, because they do
  /// not fit in memory. Then removes every-object queries until the rest fits. Call it once, after
  /// Journal::recover.
  void end_recovery(LogReplay& replay, bool lacks_lists);

  /// Forgets idle sessions and idle snapshots. Call it once a second.
  void expire(std::int64_t now_us);
  /// Returns the refusal of a request that names this stream; std::nullopt: the stream exists.
  std::optional<protocol::Problem> fault_of_stream(std::string_view stream);

  const SessionTable& sessions() const { return callers_.sessions; }
  const SnapshotStore& snapshots() const { return callers_.stores.snapshots; }
  const QuestionRequests& questions() const { return families_.questions; }
  Replies& replies() { return callers_.replies; }
  /// Any thread may call it, and use the ledger.
  CreditLedger& credit() { return *callers_.stores.credit; }

 private:
  void give_problem(const Caller& caller, PreparedRequest& request, bool is_fresh);
  void handle_settled(const Caller& caller, PreparedRequest& request, bool is_known);
  void handle_sequenced(const Caller& caller, PreparedRequest& request);
  void handle_fresh(const Caller& caller, PreparedRequest& request);
  void add_tick(LogReplay& replay, std::string error);

  const ServerOptions& options_;
  Executor& executor_;
  Tables& tables_;
  Metrics& metrics_;
  Callers callers_;
  Families families_;
};

}  // namespace starling::stream
