// SPDX-License-Identifier: Apache-2.0
// Functions that check single values and arrays of a request. A Problem's sentence says what is
// allowed, for the author of the client. decode_request, decode_reply, ClientSession and
// RestoringClient call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

Problem bad_value(std::string sentence);

/// Returns true if the text is well-formed UTF-8: no overlong forms, no surrogates, nothing beyond
/// U+10FFFF.
bool is_utf8(std::string_view text);

/// Returns plain_text() of the first `bytes_max` bytes of a foreign text.
std::string readable(std::string_view text, std::size_t bytes_max);

/// Returns a Problem unless `text` has 1 to `limit.value` bytes of UTF-8 without NUL. `what` is the
/// subject of the Problem's sentence.
std::optional<Problem> check_text(std::string_view what, std::string_view text,
                                  const ReachedLimit& limit);

std::optional<Problem> check_stream_name(std::string_view name);

/// Returns a Problem if the query's k, distance_max_m, regress or age_max_us is not allowed.
std::optional<Problem> check_query(const QuerySpec& query, const Limits& limits);

/// Returns a Problem if a rectangle is not allowed in the space. No rectangle is allowed in a
/// vector space.
std::optional<Problem> check_rectangle(const Rectangle& rectangle, Space space);

/// Returns a Problem if the time of an AdvanceTick is beyond +-2^61 us.
std::optional<Problem> check_tau(std::int64_t tau_us);

/// Returns `refusal` with `what` and `row` before its sentence, for example "Query 3: ...". Returns
/// std::nullopt if there is no refusal.
std::optional<Problem> in_row(std::string_view what, std::size_t row,
                              std::optional<Problem> refusal);

std::optional<Problem> check_row_count(std::string_view what, std::uint64_t count,
                                       const ReachedLimit& limit);

/// Returns a Problem with the code array_mismatch unless the array `name` has `size` == `rows`
/// entries.
std::optional<Problem> check_same_length(std::string_view name, std::size_t size, std::size_t rows);
/// Like check_same_length, but the array may also be empty.
std::optional<Problem> check_none_or_same_length(std::string_view name, std::size_t size,
                                                 std::size_t rows);
/// Returns a Problem unless the batch has either `coordinates` or `coordinates_f32`, with
/// components_a_row() numbers for each id.
std::optional<Problem> check_coordinates(const UpdateBatch& batch);
/// Returns a Problem unless each of `tags`, `labels` and `values` is empty or has an entry for each
/// row, or with `row_columns`, for each row that has its bit.
std::optional<Problem> check_row_columns(const UpdateBatch& batch);

}  // namespace starling::protocol
