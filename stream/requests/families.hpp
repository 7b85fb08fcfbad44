// SPDX-License-Identifier: Apache-2.0
// All families of requests. Requests owns them, and request_table.cpp chooses the family of a
// request.
#pragma once

#include <functional>
#include <utility>

#include "starling/stream/callers/callers.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/ticker.hpp"
#include "starling/stream/recovery/past_reader.hpp"
#include "starling/stream/requests/name_requests.hpp"
#include "starling/stream/requests/object_requests.hpp"
#include "starling/stream/requests/query_requests.hpp"
#include "starling/stream/requests/question_requests.hpp"
#include "starling/stream/requests/report_requests.hpp"
#include "starling/stream/requests/row_requests.hpp"
#include "starling/stream/requests/session_requests.hpp"
#include "starling/stream/requests/snapshot_requests.hpp"
#include "starling/stream/requests/stream_requests.hpp"
#include "starling/stream/requests/tick_requests.hpp"
#include "starling/stream/requests/update_requests.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

struct Families {
  /// What the families use of the server. The references must outlive Families.
  struct Parts {
    Executor& executor;
    Tables& tables;
    Ticker& ticker;
    Publisher& publisher;
    Results& results;
    Metrics& metrics;
    PastReader* past;  ///< null if the server has no log
    std::function<Gauges()> gauges;
  };
  Families(const ServerOptions& options, Callers& callers, Parts parts)
      : beside(parts.executor, 1),
        rows(parts.executor, parts.tables, callers.owners, callers.replies, parts.metrics,
             callers.stores.credit, beside),
        sessions(options, parts.executor, parts.tables, parts.publisher, callers.sessions,
                 callers.stores, callers.log, callers.replies, parts.metrics),
        updates(parts.tables, callers.sessions, callers.owners, callers.log, callers.replies,
                *callers.stores.credit),
        objects(parts.tables, parts.publisher, callers.owners, callers.log, rows, callers.pages),
        names(parts.tables, parts.publisher, callers.owners, callers.log, callers.replies, rows),
        streams(options, parts.tables, parts.publisher, parts.results, callers.owners, callers.log,
                callers.replies, rows, callers.pages, callers.stores.losses),
        queries(parts.tables, parts.publisher, callers.owners, callers.log, callers.replies, rows,
                callers.pages),
        ticks(options, parts.tables, parts.ticker, callers.sessions, callers.log, callers.replies),
        snapshots(options, parts.executor, parts.tables, parts.publisher, callers.log,
                  callers.replies, callers.pages, callers.stores.snapshots, beside),
        questions(options, parts.executor, parts.tables, parts.publisher, callers.log,
                  callers.replies, callers.owners, parts.past),
        reports(parts.tables, parts.publisher, callers.stores.losses, parts.metrics,
                callers.replies, std::move(parts.gauges)) {}
  Families(const Families&) = delete;
  Families& operator=(const Families&) = delete;

  OrderedPool beside;  ///< thread that encodes snapshots and frees long requests
  RowRequests rows;
  SessionRequests sessions;
  UpdateRequests updates;
  ObjectRequests objects;
  NameRequests names;
  StreamRequests streams;
  QueryRequests queries;
  TickRequests ticks;
  SnapshotRequests snapshots;
  QuestionRequests questions;
  ReportRequests reports;
};

}  // namespace starling::stream
