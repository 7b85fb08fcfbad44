// SPDX-License-Identifier: Apache-2.0
// Parses numbers from text. The readers of traces, requests, queries and vectors use these
// functions, and so do the flags that take numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling::sim {

/// Returns `text` without the spaces, tabs and line breaks at both ends.
std::string_view trim(std::string_view text);

/// Returns true if a field holds no value: it is empty, has only hyphens, or is NaN, NA, N/A, null,
/// none, nil or `\N`, in any letter case.
bool is_missing(std::string_view text);

/// The mark between the whole number and its fraction.
enum class DecimalMark : std::uint8_t { point, comma };

/// Parses a decimal floating-point number; spaces and tabs around it are ignored. Returns
/// std::nullopt if `text` is anything else.
std::optional<double> parse_number(std::string_view text, DecimalMark mark = DecimalMark::point);

/// Returns true for a number with one comma, no point, and not exactly three digits after the
/// comma, because "1,234" may mean 1234.
bool has_decimal_comma(std::string_view text);

/// Parses tag bits: a whole number below 2^32. A decimal number may have a fraction of zeros or an
/// exponent; a hexadecimal number begins with 0x. Returns std::nullopt if `text` is anything else.
std::optional<std::uint32_t> parse_tag_bits(std::string_view text);

/// Returns `text` with a point in place of its first comma, if `mark` is the comma and the text has
/// no point. The result may be a view of `changed`.
std::string_view with_decimal_point(std::string_view text, DecimalMark mark, std::string& changed);

}  // namespace starling::sim
