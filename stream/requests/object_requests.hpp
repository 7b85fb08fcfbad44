// SPDX-License-Identifier: Apache-2.0
// UpdateTags, RemoveObjects and GetObjects. UpdateRequests carries out UpdateBatch, with the
// positions of objects.
#pragma once

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
class ObjectRequests {
 public:
  ObjectRequests(Tables& tables, const Publisher& publisher, Owners& owners, RequestLog& log,
                 RowRequests& rows, PageReads& pages)
      : tables_(tables),
        publisher_(publisher),
        owners_(owners),
        log_(log),
        rows_(rows),
        pages_(pages) {}

  void update_tags(const Caller& caller, PreparedRequest& request);
  void remove(const Caller& caller, PreparedRequest& request);
  void get(const Caller& caller, const protocol::GetObjects& request);

 private:
  Tables& tables_;
  const Publisher& publisher_;
  Owners& owners_;
  RequestLog& log_;
  RowRequests& rows_;
  PageReads& pages_;
};

}  // namespace starling::stream
