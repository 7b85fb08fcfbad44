// SPDX-License-Identifier: Apache-2.0
// Hello and EndSession. SessionRequests also ends idle sessions, and refuses peers that guess the
// ids of sessions.
#pragma once

#include <cstdint>

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/callers/session_stores.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/state/peer_buckets.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class SessionRequests {
 public:
  SessionRequests(const ServerOptions& options, Executor& executor, Tables& tables,
                  const Publisher& publisher, SessionTable& sessions, SessionStores& stores,
                  RequestLog& log, Replies& replies, Metrics& metrics)
      : options_(options),
        executor_(executor),
        tables_(tables),
        publisher_(publisher),
        sessions_(sessions),
        stores_(stores),
        log_(log),
        replies_(replies),
        metrics_(metrics),
        guesses_(options.guesses),
        hellos_(options.hellos) {}

  void hello(const Caller& caller, const protocol::Hello& request);
  void end(const Caller& caller);

  /// Refuses a request whose session does not exist or is not the peer's, and counts it as a guess.
  void refuse_unknown(const Caller& caller);
  /// Returns true if the peer has named too many sessions that are not its own. Its request must
  /// then be refused without a look at the session.
  bool has_guessed_too_often(const Caller& caller, std::uint64_t session) const;
  /// Refuses a request of a peer that has guessed too often, and counts it in the metrics.
  void refuse_guess(const Caller& caller);

  /// Ends idle sessions. Call it about once a second.
  void expire(std::int64_t now_us);

 private:
  protocol::HelloReply reply_to(const Caller& caller, const SessionTable::Opened& opened) const;
  bool says_hello_too_often(const Caller& caller);
  protocol::Problem beyond_sessions(const Caller& caller) const;

  const ServerOptions& options_;
  Executor& executor_;
  Tables& tables_;
  const Publisher& publisher_;
  SessionTable& sessions_;
  SessionStores& stores_;
  RequestLog& log_;
  Replies& replies_;
  Metrics& metrics_;
  PeerBuckets guesses_;
  PeerBuckets hellos_;  ///< the keys are hashes of owners
};

}  // namespace starling::stream
