// SPDX-License-Identifier: Apache-2.0
// PutStream, RemoveStream and ListStreams. RemoveStream also removes the stream's queries, in
// slices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/page_reads.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/requests/row_requests.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/state/subscriber_losses.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class StreamRequests {
 public:
  StreamRequests(const ServerOptions& options, Tables& tables, Publisher& publisher,
                 Results& results, Owners& owners, RequestLog& log, Replies& replies,
                 RowRequests& rows, PageReads& pages, SubscriberLosses& losses)
      : options_(options),
        tables_(tables),
        publisher_(publisher),
        results_(results),
        owners_(owners),
        log_(log),
        replies_(replies),
        rows_(rows),
        pages_(pages),
        losses_(losses) {}

  void put(const Caller& caller, const protocol::PutStream& request);
  void remove(const Caller& caller, PreparedRequest& request);
  void list(const Caller& caller, const protocol::ListStreams& request);

 private:
  SequencedReply put_now(const Caller& caller, const protocol::PutStream& request);
  protocol::ErrorReply too_many_streams(protocol::ReachedLimit limit) const;
  std::optional<protocol::Problem> refusal_of(const Caller& caller,
                                              const protocol::RemoveStream& request);
  void begin_remove(StreamId stream);

  const ServerOptions& options_;
  Tables& tables_;
  Publisher& publisher_;
  Results& results_;
  Owners& owners_;
  RequestLog& log_;
  Replies& replies_;
  RowRequests& rows_;
  PageReads& pages_;
  SubscriberLosses& losses_;
};

}  // namespace starling::stream
