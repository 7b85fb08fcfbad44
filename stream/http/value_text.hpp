// SPDX-License-Identifier: Apache-2.0
// Reads values that HTTP requests write as text: numbers, times, durations, percent-encoded words
// and object ids. The readers of bodies and parameters use these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling::stream {

/// Return std::nullopt unless all of `text` is a number of this type.
std::optional<double> parse_double(std::string_view text);
std::optional<std::uint32_t> parse_uint32(std::string_view text);
std::optional<std::int64_t> parse_int64(std::string_view text);

/// Parses an ISO 8601 time with a zone into microseconds since the epoch, for example
/// "2026-03-01T12:00:00.25Z" or "2026-03-01T13:00:00+01:00". Digits beyond the microsecond are
/// dropped. Second 60 is the first second of the next minute.
std::optional<std::int64_t> parse_iso_time_us(std::string_view text);

/// Parses a whole number and its unit (us, ms, s, m, h or d) into microseconds.
std::optional<std::int64_t> parse_duration_us(std::string_view text);

/// Decodes %XX, and '+' as a space if `plus_is_space`. Returns std::nullopt if a percent sign is
/// not followed by two hexadecimal digits, or if the result is not UTF-8.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace starling::stream
