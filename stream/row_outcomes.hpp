// SPDX-License-Identifier: Apache-2.0
// Translates the tables' statuses of rows into the reasons and counts of a BatchReply. Pure
// functions; RequestHandler calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::stream {

protocol::RowReason to_reason(UpdateStatus status);
/// Decoding has checked k, votes and dimensions, so a status about them is a bug.
protocol::RowReason to_reason(QueryStatus status);

/// Sets the reason of each row that was passed to the tables. These are the rows whose reason is
/// RowReason::none so far, and `statuses` has one status for each of these rows, in order.
template <class Status>
void merge_statuses(std::span<const Status> statuses, std::span<protocol::RowReason> reasons) {
  std::size_t next = 0;
  for (protocol::RowReason& reason : reasons)
    if (reason == protocol::RowReason::none) reason = to_reason(statuses[next++]);
}

/// Counts the outcomes. `reasons` has one entry for each row of the batch: RowReason::none if the
/// row was accepted. For `columns`, see RowSet.
protocol::BatchReply summarize(std::span<const protocol::RowReason> reasons,
                               std::span<const std::uint32_t> columns = {});

}  // namespace starling::stream
