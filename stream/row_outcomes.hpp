// From what the tables say about rows to what a BatchReply says. Pure; RequestHandler uses it.
#pragma once

#include <cstddef>
#include <span>

#include "knn/object_table.hpp"
#include "knn/query_table.hpp"
#include "protocol/messages.hpp"
#include "stream/prepare.hpp"

namespace starling::stream {

protocol::RowReason to_reason(UpdateStatus status);
/// k is checked on decoding; a status about it is a bug.
protocol::RowReason to_reason(QueryStatus status);

/// Fills in what became of the rows that had a place on the lattice.
template <class Status>
void merge_statuses(std::span<const Status> statuses, std::span<protocol::RowReason> reasons) {
  std::size_t next = 0;
  for (protocol::RowReason& reason : reasons)
    if (reason == protocol::RowReason::none) reason = to_reason(statuses[next++]);
}

/// One reason a row of the wire; none: accepted.
protocol::BatchReply summarize(std::span<const protocol::RowReason> reasons);

}  // namespace starling::stream
