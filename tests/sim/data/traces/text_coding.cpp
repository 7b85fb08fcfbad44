// SPDX-License-Identifier: Apache-2.0
// Escapes strings, and turns UTF-8 into UTF-16: see text_coding.hpp.
#include "tests/sim/data/traces/text_coding.hpp"

#include <algorithm>
#include <cstdint>
#include <regex>

namespace starling::sim {

using test::Random;

namespace {

/// Turns valid UTF-8 into UTF-16.
std::string utf16(std::string_view text, bool is_big) {
  std::string result;
  const auto add = [&](std::uint32_t unit) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xff);
    result += is_big ? high : low;
    result += is_big ? low : high;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    const int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    std::uint32_t point = more == 0 ? first : first & (0x3fU >> more);
    for (int byte = 0; byte < more; ++byte)
      point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fU);
    if (point >= 0x10000) {
      add(0xd800 + ((point - 0x10000) >> 10));
      point = 0xdc00 + (point & 0x3ff);
    }
    add(point);
  }
  return result;
}

}  // namespace

bool is_json_number(std::string_view text) {
  static const std::regex number(R"(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)");
  return std::regex_match(text.begin(), text.end(), number);
}

std::string json_string(Random& random, std::string_view text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') result += '\\';
    if (byte == '\n')
      result += "\\n";
    else if (byte == '\r')
      result += random.chance(0.5) ? "\\r" : "\\u000d";
    else if (byte == '\t')
      result += "\\t";
    else if (byte == '/' && random.chance(0.5))
      result += "\\/";
    else if (byte == 'b' && random.chance(0.1))
      result += "\\u0062";
    else
      result += byte;
  }
  return result + '"';
}

std::string coded(Random& random, const std::string& text) {
  const bool is_big = random.chance(0.5);
  switch (random.below(8)) {
    case 0:
      return "\xef\xbb\xbf" + text;
    case 1:
      return utf16("\xef\xbb\xbf" + text, is_big);
    case 2:  // without a mark, the first characters must show the order of bytes
      return std::ranges::all_of(text.substr(0, 16), [](char byte) { return byte > 0; })
                 ? utf16(text, is_big)
                 : text;
    default:
      return text;
  }
}

}  // namespace starling::sim
