// SPDX-License-Identifier: Apache-2.0
// All reasons for which the server refuses a request (in Error) or a row (in BatchReply).
// starling.fbs has the same lists. protocol/README.md says what a client should do about each
// reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace starling::protocol {

/// Why a whole request was refused. A refused request changes nothing.
enum class ErrorCode : std::uint16_t {
  none,
  malformed,        ///< not a verified Request of this schema
  wrong_version,    ///< the request has another protocol version
  unknown_request,  ///< this server does not know the type of the request's body
  frame_too_large,  ///< longer than frame_bytes_max
  too_many_rows,    ///< more rows, queries, questions or ids than a request may have
  array_mismatch,   ///< arrays of the request do not fit together, e.g. in length
  bad_value,        ///< a number or enum value that its field does not allow
  bad_text,         ///< a name or text that is empty, too long, not UTF-8, or has a NUL
  k_out_of_range,   ///< k is 0 or beyond k_max
  unknown_stream,   ///< no PutStream has made the stream
  too_many_streams,
  unknown_session,  ///< no Hello has opened the session, or it was idle too long
  too_many_sessions,
  sequence_gap,        ///< the sequence number is beyond the session's next number
  sequence_forgotten,  ///< the request was applied before, but its reply is no longer kept
  out_of_credit,       ///< the session has no credit left for its rows or bytes
  busy,                ///< a bounded queue of the server, or its log's disk, is full; try again
  not_manual,          ///< AdvanceTick to a server whose ticks follow the wall clock
  tau_too_early,       ///< AdvanceTick to a time before the last tick's
  tick_failed,         ///< the engine failed; the old lists stay valid
  page_expired,        ///< the server no longer holds the snapshot of this page
  shutting_down,
  answer_failed,  ///< the engine failed, or the log's disk is full
  not_allowed,    ///< the principal lacks a role, or used what belongs to another principal
  /// The server's log was put back from a copy, and lacks requests that were acknowledged. No
  /// server sends this code: the client library detects the loss, and fails the unanswered
  /// requests.
  log_put_back,
};
inline constexpr auto last_error_code = ErrorCode::log_put_back;

/// Why one row of an accepted batch had no effect.
enum class RowReason : std::uint8_t {
  none,
  late,               ///< older than what is stored; counted as late, not as rejected
  future,             ///< the time is beyond tau + future_max
  time_out_of_range,  ///< the time is beyond +-2^61 us
  unknown_object,     ///< UpdateTags: no such object, or it has been forgotten
  too_many_objects,
  position_not_finite,
  position_out_of_range,   ///< a coordinate is beyond 2^30 lattice units from the origin
  longitude_out_of_range,  ///< outside [-180, 180]
  latitude_out_of_range,   ///< outside [-90, 90]
  unknown_query,
  too_many_queries,
  text_is_not_its_id,  ///< PutNames: the text converts to another id
  name_collision,      ///< PutNames: the id already has another text
  too_many_names,
  too_many_neighbors,  ///< all lists together would hold more than the server allows
  too_many_queries_of_session,
  too_many_names_of_session,
  too_many_name_bytes,   ///< all names together would be longer than the server allows
  component_not_finite,  ///< a component of a vector is NaN or infinite
  component_too_large,   ///< a component of a vector is beyond +-2^56
  component_negative,    ///< a component is negative, which the metric does not allow
  value_infinite,        ///< the value of an object is infinite
  not_allowed,           ///< the id is outside the principal's ranges in the keys file
  not_owner,             ///< the query or name belongs to another principal
  // The next three: the principal has reached its quota in the keys file.
  too_many_queries_of_principal,
  too_many_neighbors_of_principal,
  too_many_names_of_principal,
};
inline constexpr auto last_row_reason = RowReason::too_many_names_of_principal;

std::string_view to_string(ErrorCode code);
std::string_view to_string(RowReason reason);

/// Returns true if a refusal with this code uses up the request's sequence number. Returns false if
/// the client may send the same request again with the same number. Also returns false for
/// sequence_forgotten, because that number was used up when the request was applied.
bool consumes_sequence(ErrorCode code);

/// The limit that a request or a row reached. `name` is the limit's flag without the leading
/// dashes, or empty if no limit was reached.
struct ReachedLimit {
  std::string name{};
  std::uint64_t value = 0;
  bool operator==(const ReachedLimit&) const = default;
};

/// Returns the limit as a part of a sentence, for example "rows-max (262144)".
std::string to_string(const ReachedLimit& limit);

/// A refusal: a code for the client program, and a sentence for its author.
struct Problem {
  ErrorCode code = ErrorCode::none;
  std::string sentence{};  ///< what was wrong, where, and what is allowed
  ReachedLimit limit{};
};

/// Returns the sentence of a Problem without "Query 0: " or "Question 0: ". Clients that send only
/// one query or question do not number them.
std::string_view without_first_row(std::string_view sentence);

/// Returns the refusal of a request for which the server has no memory. The code of the refusal is
/// busy, so that the client may send the request again.
Problem out_of_memory();

}  // namespace starling::protocol
