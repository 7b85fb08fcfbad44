// SPDX-License-Identifier: Apache-2.0
// All that the loop keeps about clients: their sessions, what belongs to them, and the ways to
// answer them. Requests owns the Callers.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "starling/stream/access/audit.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/page_reads.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/reply_sender.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/callers/session_stores.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
struct Callers {
  /// What Callers uses. The references must outlive it.
  struct Parts {
    Executor& executor;
    std::function<std::uint64_t()> random;  ///< source of session ids
    Tables& tables;
    Metrics& metrics;
    Audit& audit;      ///< log of the requests refused for missing rights
    Journal* journal;  ///< null if the server has no log
    ReplySender::Send send;
    /// Whether the server has a keys file. If so, what a request makes belongs to its principal,
    /// and else to its session.
    bool has_keys;
  };
  Callers(const ServerOptions& options, Parts parts)
      : stores{.credit = std::make_shared<CreditLedger>(
                   Credit{options.limits.credit_rows, options.limits.credit_bytes}),
               .snapshots = SnapshotStore(options.snapshots),
               .pages = PageRate(options.pages)},
        sessions(options.sessions, std::move(parts.random),
                 [this](std::uint64_t session) { return stores.credit->has_taken(session); }),
        owners(options, parts.has_keys, parts.executor, parts.tables, sessions),
        log(parts.journal, sessions),
        sender(std::move(parts.send), parts.journal, parts.metrics, options.reply_bytes_max),
        replies(options, parts.executor, parts.metrics, parts.audit, sessions,
                parts.tables.growth(), log, sender),
        pages(options, parts.executor, stores.pages, replies, parts.metrics) {}
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  SessionStores stores;
  SessionTable sessions;
  Owners owners;
  RequestLog log;
  ReplySender sender;
  Replies replies;
  PageReads pages;
};

}  // namespace starling::stream
