// SPDX-License-Identifier: Apache-2.0
// Names the error codes and row reasons, and says which refusals use up a sequence number: see
// errors.hpp.
#include "starling/protocol/wire/errors.hpp"

#include <array>
#include <cstddef>

namespace starling::protocol {
namespace {

constexpr std::array error_names = std::to_array<std::string_view>({"none",
                                                                    "malformed",
                                                                    "wrong_version",
                                                                    "unknown_request",
                                                                    "frame_too_large",
                                                                    "too_many_rows",
                                                                    "array_mismatch",
                                                                    "bad_value",
                                                                    "bad_text",
                                                                    "k_out_of_range",
                                                                    "unknown_stream",
                                                                    "too_many_streams",
                                                                    "unknown_session",
                                                                    "too_many_sessions",
                                                                    "sequence_gap",
                                                                    "sequence_forgotten",
                                                                    "out_of_credit",
                                                                    "busy",
                                                                    "not_manual",
                                                                    "tau_too_early",
                                                                    "tick_failed",
                                                                    "page_expired",
                                                                    "shutting_down",
                                                                    "answer_failed",
                                                                    "not_allowed",
                                                                    "log_put_back"});
static_assert(error_names.size() == static_cast<std::size_t>(last_error_code) + 1);

constexpr std::array reason_names =
    std::to_array<std::string_view>({"none",
                                     "late",
                                     "future",
                                     "time_out_of_range",
                                     "unknown_object",
                                     "too_many_objects",
                                     "position_not_finite",
                                     "position_out_of_range",
                                     "longitude_out_of_range",
                                     "latitude_out_of_range",
                                     "unknown_query",
                                     "too_many_queries",
                                     "text_is_not_its_id",
                                     "name_collision",
                                     "too_many_names",
                                     "too_many_neighbors",
                                     "too_many_queries_of_session",
                                     "too_many_names_of_session",
                                     "too_many_name_bytes",
                                     "component_not_finite",
                                     "component_too_large",
                                     "component_negative",
                                     "value_infinite",
                                     "not_allowed",
                                     "not_owner",
                                     "too_many_queries_of_principal",
                                     "too_many_neighbors_of_principal",
                                     "too_many_names_of_principal"});
static_assert(reason_names.size() == static_cast<std::size_t>(last_row_reason) + 1);

}  // namespace

std::string_view to_string(ErrorCode code) {
  const auto at = static_cast<std::size_t>(code);
  return at < error_names.size() ? error_names[at] : "unknown";
}

std::string_view to_string(RowReason reason) {
  const auto at = static_cast<std::size_t>(reason);
  return at < reason_names.size() ? reason_names[at] : "unknown";
}

std::string to_string(const ReachedLimit& limit) {
  return limit.name + " (" + std::to_string(limit.value) + ")";
}

std::string_view without_first_row(std::string_view sentence) {
  for (const std::string_view row : {"Query 0: ", "Question 0: "})
    if (sentence.starts_with(row)) return sentence.substr(row.size());
  return sentence;
}

Problem out_of_memory() {
  return {
      ErrorCode::busy,
      "The server is out of memory for this request; send it again later, or in smaller parts."};
}

bool consumes_sequence(ErrorCode code) {
  switch (code) {
    case ErrorCode::unknown_session:
    case ErrorCode::too_many_sessions:
    case ErrorCode::sequence_gap:
    case ErrorCode::sequence_forgotten:
    case ErrorCode::out_of_credit:
    case ErrorCode::busy:
    case ErrorCode::shutting_down:
    case ErrorCode::log_put_back:
      return false;
    default:
      return true;
  }
}

}  // namespace starling::protocol
