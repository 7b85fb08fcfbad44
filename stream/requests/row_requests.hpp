// SPDX-License-Identifier: Apache-2.0
// Applies requests of many rows: short ones at once, long ones in slices, so that they do not hold
// the loop. Between two slices, nothing else changes the tables and no tick begins, so a tick sees
// all rows of a request or none. Requests that only read are answered between two slices, and see
// the rows applied so far. The reply is sent after the last slice.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// A request that is carried out after its handler has returned.
class HeldRequest {
 public:
  /// Moves the request, with its credit, into this object.
  HeldRequest(std::shared_ptr<CreditLedger> credit, const Caller& by, PreparedRequest& taken)
      : caller(by), request(std::move(taken)), credit_(std::move(credit)) {
    taken.credit = {};
  }
  HeldRequest(const HeldRequest&) = delete;
  HeldRequest& operator=(const HeldRequest&) = delete;
  ~HeldRequest() { give_back(); }

  /// Gives the credit back. Further calls give nothing.
  void give_back() { credit_->give_back(caller.head.session, std::exchange(request.credit, {})); }

  const Caller caller;
  PreparedRequest request;

 private:
  /// Shared, because a request that waits in Tables ends after the callers when a server ends.
  std::shared_ptr<CreditLedger> credit_;
};

/// How a request changes the tables.
struct RowChange {
  std::size_t rows = 0;  ///< number of rows to change
  /// Changes up to `rows_max` further rows. Returns whether all rows are changed now.
  std::function<bool(std::size_t rows_max)> step;
  /// Called when all rows are changed: notes the change for the log, and returns the reply.
  std::function<SequencedReply()> finish;
};

/// Returns a step of RowChange that calls apply(first row, count) for `rows` rows.
template <class Apply>
std::function<bool(std::size_t)> in_steps(std::size_t rows, Apply apply) {
  return [rows, next = std::size_t{0}, apply = std::move(apply)](std::size_t rows_max) mutable {
    const std::size_t count = std::min(rows_max, rows - next);
    apply(next, count);
    next += count;
    return next == rows;
  };
}

/// Returns the reply to a batch whose converted rows have these statuses.
template <class Row, class Status>
protocol::BatchReply reply_to(protocol::RowSet<Row>& set, std::span<const Status> statuses) {
  protocol::merge_statuses<Status>(statuses, set.reasons);
  return protocol::summarize(set.reasons, set.columns);
}

/// Only the loop calls the functions.
class RowRequests {
 public:
  /// Memory of long requests is freed on `beside`.
  RowRequests(Executor& executor, Tables& tables, Owners& owners, Replies& replies,
              Metrics& metrics, std::shared_ptr<CreditLedger> credit, OrderedPool& beside)
      : executor_(executor),
        tables_(tables),
        owners_(owners),
        replies_(replies),
        metrics_(metrics),
        credit_(std::move(credit)),
        beside_(beside) {}

  /// Moves a request, with its credit, into a HeldRequest for run().
  std::shared_ptr<HeldRequest> hold(const Caller& caller, PreparedRequest& request) {
    return std::make_shared<HeldRequest>(credit_, caller, request);
  }
  /// Applies the change, now or in slices, and answers.
  void run(const std::shared_ptr<HeldRequest>& held, RowChange change);

 private:
  Executor& executor_;
  Tables& tables_;
  Owners& owners_;
  Replies& replies_;
  Metrics& metrics_;
  std::shared_ptr<CreditLedger> credit_;
  OrderedPool& beside_;
};

}  // namespace starling::stream
