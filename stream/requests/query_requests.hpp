// SPDX-License-Identifier: Apache-2.0
// PutQueries, RemoveQueries, ListQueries: the standing queries of a stream.
#pragma once

#include <cstdint>
#include <span>

#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/page_reads.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/requests/row_requests.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class QueryRequests {
 public:
  QueryRequests(Tables& tables, const Publisher& publisher, Owners& owners, RequestLog& log,
                Replies& replies, RowRequests& rows, PageReads& pages)
      : tables_(tables),
        publisher_(publisher),
        owners_(owners),
        log_(log),
        replies_(replies),
        rows_(rows),
        pages_(pages) {}

  void put(const Caller& caller, PreparedRequest& request);
  void remove(const Caller& caller, PreparedRequest& request);
  void list(const Caller& caller, const protocol::ListQueries& request);

 private:
  void remove_rows(const Caller& caller, StreamId stream, std::span<const std::uint64_t> ids,
                   std::span<protocol::RowReason> reasons);

  Tables& tables_;
  const Publisher& publisher_;
  Owners& owners_;
  RequestLog& log_;
  Replies& replies_;
  RowRequests& rows_;
  PageReads& pages_;
};

}  // namespace starling::stream
