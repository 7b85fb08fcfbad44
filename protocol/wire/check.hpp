// SPDX-License-Identifier: Apache-2.0
// Checks of single values in requests. A refusal's sentence tells the client's author what is
// allowed. Used by decode_request, decode_reply and ClientSession.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// Whether the text is well-formed UTF-8: no overlong forms, no surrogates, nothing beyond
/// U+10FFFF.
bool is_utf8(std::string_view text);

/// Allows 1 to `limit.value` bytes of UTF-8 without NUL. `what` is the subject of the refusal's
/// sentence.
std::optional<Problem> check_text(std::string_view what, std::string_view text,
                                  const ReachedLimit& limit);

std::optional<Problem> check_stream_name(std::string_view name);

/// Checks a query's k, distance_max_m and age_max_us.
std::optional<Problem> check_query(const QuerySpec& query, const Limits& limits);

/// Puts `what` and `row` before a refusal's sentence, for example "Query 3: ...".
std::optional<Problem> in_row(std::string_view what, std::size_t row,
                              std::optional<Problem> refusal);

std::optional<Problem> check_row_count(std::string_view what, std::uint64_t count,
                                       const ReachedLimit& limit);

}  // namespace starling::protocol
