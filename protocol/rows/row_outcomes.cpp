// SPDX-License-Identifier: Apache-2.0
// Maps each status of the tables to a reason, and counts reasons: see row_outcomes.hpp.
#include "starling/protocol/rows/row_outcomes.hpp"

#include <array>

#include "starling/knn/base/assert.hpp"

namespace starling::protocol {

RowReason to_reason(UpdateStatus status) {
  switch (status) {
    case UpdateStatus::accepted:
      return RowReason::none;
    case UpdateStatus::late:
      return RowReason::late;
    case UpdateStatus::future:
      return RowReason::future;
    case UpdateStatus::time_out_of_range:
      return RowReason::time_out_of_range;
    case UpdateStatus::unknown_object:
      return RowReason::unknown_object;
    case UpdateStatus::too_many_objects:
      return RowReason::too_many_objects;
    case UpdateStatus::value_infinite:
      return RowReason::value_infinite;
    case UpdateStatus::not_owner:
      return RowReason::not_owner;
  }
  assertion_failed("every update status has a reason");
}

RowReason to_reason(QueryStatus status) {
  switch (status) {
    case QueryStatus::accepted:
      return RowReason::none;
    case QueryStatus::unknown_query:
      return RowReason::unknown_query;
    case QueryStatus::too_many_queries:
      return RowReason::too_many_queries;
    case QueryStatus::too_many_queries_of_owner:
      return RowReason::too_many_queries_of_session;
    case QueryStatus::too_many_objects:
      return RowReason::too_many_objects;
    case QueryStatus::too_many_neighbors:
    case QueryStatus::too_many_list_bytes:
      return RowReason::too_many_neighbors;
    case QueryStatus::not_owner:
      return RowReason::not_owner;
    case QueryStatus::beyond_query_quota:
      return RowReason::too_many_queries_of_principal;
    case QueryStatus::beyond_neighbor_quota:
      return RowReason::too_many_neighbors_of_principal;
    case QueryStatus::k_zero:
    case QueryStatus::k_too_large:
    case QueryStatus::wrong_dimension:
    case QueryStatus::no_labels:
    case QueryStatus::no_values:
    case QueryStatus::no_weights:
      break;
  }
  assertion_failed("decoding has checked k, components, votes and means");
}

bool all_accepted(std::span<const UpdateStatus> statuses) {
  std::uint8_t other = 0;
  for (const UpdateStatus status : statuses)
    other |= static_cast<std::uint8_t>(static_cast<std::uint8_t>(status) ^
                                       static_cast<std::uint8_t>(UpdateStatus::accepted));
  return other == 0;
}

BatchReply summarize(std::span<const RowReason> reasons, std::span<const std::uint32_t> columns) {
  std::array<std::uint64_t, static_cast<std::size_t>(last_row_reason) + 1> counts{};
  BatchReply reply;
  for (std::size_t row = 0; row < reasons.size(); ++row) {
    const RowReason reason = reasons[row];
    ++counts[static_cast<std::size_t>(reason)];
    const bool is_rejected = reason != RowReason::none && reason != RowReason::late;
    if (is_rejected && reply.first_rejected.size() < rejected_rows_listed_max)
      reply.first_rejected.push_back(
          {.index = static_cast<std::uint32_t>(row),
           .reason = reason,
           .column = columns.empty() ? RejectedRow::no_column : columns[row]});
  }
  reply.accepted = counts[static_cast<std::size_t>(RowReason::none)];
  reply.late = counts[static_cast<std::size_t>(RowReason::late)];
  reply.rejected = reasons.size() - reply.accepted - reply.late;
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const auto reason = static_cast<RowReason>(index);
    if (counts[index] > 0 && reason != RowReason::none && reason != RowReason::late)
      reply.reasons.push_back({reason, counts[index]});
  }
  return reply;
}

}  // namespace starling::protocol
