// SPDX-License-Identifier: Apache-2.0
// Walks UTF-8 one character at a time, and chooses units of bytes: see plain_text.hpp.
#include "starling/knn/base/plain_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace starling {
namespace {

/// The first and the last character of each range beyond ASCII that is not plain.
constexpr std::array<std::pair<char32_t, char32_t>, 15> hidden{{
    {0x80, 0x9F},        // C1, which some terminals obey
    {0xAD, 0xAD},        // soft hyphen
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200B},    // zero-width space
    {0x200E, 0x200F},    // marks of direction
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates
    {0x3164, 0x3164},    // Hangul filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // half-width Hangul filler
    {0xFFF0, 0xFFFB},    // unassigned, and annotations between lines
    {0x1D173, 0x1D17A},  // beams and slurs of music
    {0xE0000, 0xE0FFF},  // tags and supplementary variation selectors
}};

void append_hex(std::string& text, std::string_view prefix, char32_t code, int digits) {
  text += prefix;
  for (int digit = digits - 1; digit >= 0; --digit)
    text += "0123456789abcdef"[code >> (4 * digit) & 15];
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return {1, first, true};
  const std::size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes == 0 || first > 0xF4 || text.size() < bytes) return {};
  char32_t code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3Fu);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (is_overlong || is_surrogate || code > 0x10FFFF) return {};
  return {bytes, code, true};
}

bool is_plain(char32_t code) {
  if (code < 0x7F) return code >= 0x20;
  const auto* const range = std::ranges::lower_bound(
      hidden, code, {}, [](const std::pair<char32_t, char32_t>& each) { return each.second; });
  return code != 0x7F && (range == hidden.end() || code < range->first);
}

void append_plain(std::string& result, const Utf8Character& character, std::string_view bytes) {
  const char32_t code = character.code;
  if (!character.is_valid)
    append_hex(result, "\\x", static_cast<unsigned char>(bytes[0]), 2);
  else if (is_plain(code))
    result += bytes;
  else if (code == '\n')
    result += "\\n";
  else if (code == '\t')
    result += "\\t";
  else if (code == '\r')
    result += "\\r";
  else if (code < 0x80)
    append_hex(result, "\\x", code, 2);
  else if (code < 0x10000)
    append_hex(result, "\\u", code, 4);
  else
    append_hex(result, "\\U", code, 8);
}

std::string plain_text(std::string_view text, LineBreaks line_breaks) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.code == '\n' && line_breaks == LineBreaks::kept)
      result += '\n';
    else
      append_plain(result, character, text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
  return result;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t step = 1024;
  constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < step) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  // A number that would round up to 1,024 of a unit is written in the next unit.
  const auto tenths_of = [](std::uint64_t count, std::uint64_t unit) {
    return count / unit * 10 + (count % unit * 10 + unit / 2) / unit;
  };
  std::size_t larger = 0;
  std::uint64_t unit = step;
  while (larger + 1 < units.size() && tenths_of(bytes, unit) >= step * 10) {
    unit *= step;
    ++larger;
  }
  const std::uint64_t tenths = tenths_of(bytes, unit);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += '.' + std::to_string(tenths % 10);
  return text + ' ' + units[larger];
}

}  // namespace starling
