// SPDX-License-Identifier: Apache-2.0
// All that a server's log determines at one place, for snapshots of it: see LogReplay.
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
  /// The reply to a request whose tick has finished, and whose own record comes later.
  struct Reply {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    SequencedReply reply;
  };

  /// A request whose number is used up, with its reply. Those of a session are in order.
  struct Sent {
    std::uint64_t session = 0;
    SessionTable::SessionState::Sent request;
  };

  ProcessorState processor;
  Publisher::State publisher;
  std::vector<SessionTable::SessionState> sessions;  ///< sessions without their requests
  std::vector<Sent> sent;
  std::vector<NameTable::StoredName> names;
  std::vector<Principal> principals;  ///< those that anything belongs to
  std::vector<LogPrincipal> log_principals;
  std::vector<Reply> replies;
};

/// Copies the state of the tables that `replay` has written to. No tick may be under way.
/// `principals` are all that the tables know.
LoggedState export_state(const LoggedTables& tables, LogReplay& replay,
                         std::vector<LoggedState::Principal> principals);

/// Gives the state to tables that are new. Principals get the numbers that they have there. Throws
/// std::runtime_error, with a sentence, if the tables cannot hold it.
void import_state(LoggedState state, const LoggedTables& tables, LogReplay& replay);

}  // namespace starling::stream
