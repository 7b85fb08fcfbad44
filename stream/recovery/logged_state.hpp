// SPDX-License-Identifier: Apache-2.0
// The state of the tables that a server's log determines at one place. A snapshot of the log holds
// it: see make_snapshot.hpp. Recovery starts from it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/recovery/log_replay.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/state/session_table.hpp"

namespace starling::stream {

struct LoggedState {
  struct Principal {
    std::uint32_t number = 0;
    std::string name;
  };
  /// A principal's number in the log's records, and in this state.
  struct LogPrincipal {
    std::uint32_t in_log = 0;
    std::uint32_t number = 0;
  };
  /// The reply to a request for a tick that has finished. The record of the request comes later in
  /// the log.
  struct Reply {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    SequencedReply reply;
  };

  /// A request that used up its number, and its reply. The requests of one session are in order.
  struct Sent {
    std::uint64_t session = 0;
    SessionTable::SessionState::Sent request;
  };

  ProcessorState processor;
  Publisher::State publisher;
  std::vector<SessionTable::SessionState> sessions;  ///< sessions; `sent` has their requests
  std::vector<Sent> sent;
  std::vector<NameTable::StoredName> names;
  std::vector<Principal> principals;  ///< all principals that the tables know
  std::vector<LogPrincipal> log_principals;
  std::vector<Reply> replies;
};

/// Copies the state of the tables that `replay` has written to. No tick may be under way.
/// `principals` are all principals that the tables know.
LoggedState export_state(const LoggedTables& tables, LogReplay& replay,
                         std::vector<LoggedState::Principal> principals);

/// Gives the state to tables that are new. Principals get the numbers that they have in these
/// tables. Throws std::runtime_error, with a sentence, if the tables cannot hold the state.
void import_state(LoggedState state, const LoggedTables& tables, LogReplay& replay);

}  // namespace starling::stream
