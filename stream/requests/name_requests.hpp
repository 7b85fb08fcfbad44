// SPDX-License-Identifier: Apache-2.0
// PutNames and GetNames: the names of objects, which NameTable holds.
#pragma once

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/requests/row_requests.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class NameRequests {
 public:
  NameRequests(Tables& tables, const Publisher& publisher, Owners& owners, RequestLog& log,
               Replies& replies, RowRequests& rows)
      : tables_(tables),
        publisher_(publisher),
        owners_(owners),
        log_(log),
        replies_(replies),
        rows_(rows) {}

  void put(const Caller& caller, PreparedRequest& request);
  void get(const Caller& caller, const protocol::GetNames& request);

 private:
  void put_rows(const NameTable::Teller& teller, const Caller& caller,
                const protocol::PutNames& request, std::size_t first,
                std::span<protocol::RowReason> reasons);

  Tables& tables_;
  const Publisher& publisher_;
  Owners& owners_;
  RequestLog& log_;
  Replies& replies_;
  RowRequests& rows_;
};

}  // namespace starling::stream
