// SPDX-License-Identifier: Apache-2.0
// AdvanceTick: begins a tick at the request of a client, and replies when the tick is published.
#pragma once

#include <cstdint>
#include <deque>

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/publishing/ticker.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class TickRequests {
 public:
  TickRequests(const ServerOptions& options, Tables& tables, Ticker& ticker, SessionTable& sessions,
               RequestLog& log, Replies& replies)
      : options_(options),
        tables_(tables),
        ticker_(ticker),
        sessions_(sessions),
        log_(log),
        replies_(replies) {}

  /// Begins a tick, and uses up the request's sequence number unless another tick is under way.
  void advance(const Caller& caller, PreparedRequest& request);
  /// Call it when a request is sent again while its tick runs. The reply then goes to `caller`.
  void sent_again(const Caller& caller);

 private:
  protocol::Problem too_early() const;
  protocol::Problem too_late(std::int64_t tau_us) const;

  const ServerOptions& options_;
  Tables& tables_;
  Ticker& ticker_;
  SessionTable& sessions_;
  RequestLog& log_;
  Replies& replies_;
  std::deque<Caller> advancing_;  ///< callers of the ticks that run, the oldest first
};

}  // namespace starling::stream
