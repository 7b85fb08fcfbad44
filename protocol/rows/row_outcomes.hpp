// SPDX-License-Identifier: Apache-2.0
// Pure functions that translate the statuses of rows, which the tables return, into the reasons and
// counts of a BatchReply. The families of requests call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

RowReason to_reason(UpdateStatus status);
/// Asserts that the status is not about k, votes, means or dimensions: decoding has checked these.
RowReason to_reason(QueryStatus status);

/// Sets the reason of each row that was passed to the tables. These are the rows whose reason is
/// RowReason::none so far, and `statuses` has one status for each of these rows, in order.
template <class Status>
void merge_statuses(std::span<const Status> statuses, std::span<RowReason> reasons) {
  std::size_t next = 0;
  for (RowReason& reason : reasons)
    if (reason == RowReason::none) reason = to_reason(statuses[next++]);
}

/// Returns whether every status is UpdateStatus::accepted. Takes a few nanoseconds for a hundred.
bool all_accepted(std::span<const UpdateStatus> statuses);

/// Returns the numbers of accepted, late and rejected rows, and the first rejected rows. `reasons`
/// has one entry for each row of the batch: RowReason::none if the row was accepted. For `columns`,
/// see RowSet.
BatchReply summarize(std::span<const RowReason> reasons,
                     std::span<const std::uint32_t> columns = {});

}  // namespace starling::protocol
