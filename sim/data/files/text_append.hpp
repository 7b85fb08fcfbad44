// SPDX-License-Identifier: Apache-2.0
// Appends values to a text in the notations of the output formats: numbers, CSV, XML, JSON.
// The writers of results, traces and reports use these functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace starling::sim {

/// Appends the text that std::to_chars makes of these arguments: a value, and optionally a format
/// and a precision. A float64 without format and precision becomes the shortest text that reads
/// back to the same number.
template <class... Format>
void append_number(std::string& text, Format... number) {
  // 400 bytes hold every integer, and every float64 that is written with three decimals or in its
  // shortest form without exponent.
  char buffer[400];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), number...);
  text.append(buffer, static_cast<std::size_t>(end - buffer));
}

/// Returns `text` if it is UTF-8. Otherwise reads it as Latin-1 and converts it to UTF-8.
std::string to_utf8(std::string_view text);

/// Appends a CSV field, in quotes where RFC 4180 requires them.
void append_csv(std::string& text, std::string_view value);

/// Appends `value`, escaped for an attribute or for an element's content. Replaces characters that
/// XML 1.0 forbids by U+FFFD and then returns false. Text that is not UTF-8 is read as Latin-1.
bool append_xml(std::string& text, std::string_view value);

/// Appends a JSON string with its quotes. Text that is not UTF-8 is read as Latin-1.
void append_json(std::string& text, std::string_view value);

}  // namespace starling::sim
