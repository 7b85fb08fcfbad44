// SPDX-License-Identifier: Apache-2.0
// UpdateBatch: new positions, tags and labels of objects. Tables applies the updates of several
// requests together. Each request gets its own reply, in order.
#pragma once

#include <memory>

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class UpdateRequests {
 public:
  UpdateRequests(Tables& tables, SessionTable& sessions, Owners& owners, RequestLog& log,
                 Replies& replies, CreditLedger& credit)
      : tables_(tables),
        sessions_(sessions),
        owners_(owners),
        log_(log),
        replies_(replies),
        credit_(credit) {}

  /// Adds a fresh update of objects to the updates that wait in Tables, and uses up its sequence
  /// number. Returns false, and changes nothing, if the request has a problem or is not an update
  /// of objects. If it throws std::bad_alloc, nothing has changed.
  bool add(const Caller& caller, PreparedRequest& request);

 private:
  class Pending;
  void answer(Pending& update, const GroupOutcome& outcome);

  Tables& tables_;
  SessionTable& sessions_;
  Owners& owners_;
  RequestLog& log_;
  Replies& replies_;
  CreditLedger& credit_;
};

}  // namespace starling::stream
