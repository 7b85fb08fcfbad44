// SPDX-License-Identifier: Apache-2.0
// From what the tables say about rows to what a BatchReply says. Pure; RequestHandler uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::stream {

protocol::RowReason to_reason(UpdateStatus status);
/// k, votes and dimensions are checked on decoding; a status about them is a bug.
protocol::RowReason to_reason(QueryStatus status);

/// Fills in what became of the rows that had a place in the space.
template <class Status>
void merge_statuses(std::span<const Status> statuses, std::span<protocol::RowReason> reasons) {
  std::size_t next = 0;
  for (protocol::RowReason& reason : reasons)
    if (reason == protocol::RowReason::none) reason = to_reason(statuses[next++]);
}

/// One reason a row of the wire; none: accepted. `columns` as in RowSet.
protocol::BatchReply summarize(std::span<const protocol::RowReason> reasons,
                               std::span<const std::uint32_t> columns = {});

}  // namespace starling::stream
