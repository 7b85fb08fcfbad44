// SPDX-License-Identifier: Apache-2.0
// Text for people. Text of strangers is made harmless to show: names, and sentences of a server.
// Control characters would steer a terminal or forge a line of a log, and others would reorder or
// hide the characters around them. The logs, the JSON writer and all commands use these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace starling {

struct Utf8Character {
  std::size_t bytes = 1;
  char32_t code = 0xFFFD;
  bool is_valid = false;  ///< false: the first byte belongs to no character
};

/// Returns the character at the start of `text`, which must not be empty. Only well-formed UTF-8
/// is valid (Unicode 15, table 3-7).
Utf8Character first_character(std::string_view text);

/// Returns whether the character can be shown as it is. Control characters (C0, DEL and C1) cannot.
/// Neither can line separators, characters that set the direction of text, and invisible
/// characters. U+200C and U+200D can: Persian and Hindi need them within words.
bool is_plain(char32_t code);

/// How plain_text() treats line breaks.
enum class LineBreaks : std::uint8_t { escaped, kept };

/// Returns the text with all that is not plain written as \n, \t, \r, \xHH, \uHHHH or \UHHHHHHHH,
/// where \xHH from 80 on is a byte that is not UTF-8. A backslash stays as it is: the result is
/// for people, and JSON is for programs.
std::string plain_text(std::string_view text, LineBreaks line_breaks = LineBreaks::escaped);
/// Appends plain_text(character) to `result`.
void append_plain(std::string& result, const Utf8Character& character, std::string_view bytes);

/// Returns the number in the largest unit that it reaches, rounded to a tenth: "512 bytes", "1.5
/// KiB", "256 MiB". A number that is compared with a limit is written exactly instead.
std::string bytes_text(std::uint64_t bytes);

}  // namespace starling
