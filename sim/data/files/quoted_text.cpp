// SPDX-License-Identifier: Apache-2.0
// Walks UTF-8 one character at a time: see quoted_text.hpp.
#include "starling/sim/data/files/quoted_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace starling::sim {
namespace {

constexpr std::size_t characters_max = 60;

/// Returns the size in bytes of the UTF-8 character at the start of `text`, or 0 if the bytes there
/// are not valid UTF-8 (RFC 3629).
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes == 0 || first > 0xF4 || text.size() < bytes) return 0;
  std::uint32_t code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3Fu);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return is_overlong || is_surrogate || code > 0x10FFFF ? 0 : bytes;
}

/// Returns true for control characters: C0, DEL, and C1 (U+0080 to U+009F). Some terminals obey C1,
/// too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string printable_text(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string result;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == characters_max) return result + "\u2026";
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    text.remove_prefix(character.size());
    if (bytes > 0 && !is_control(character)) {
      result += character;
      continue;
    }
    for (const char each : character) {
      const auto octet = static_cast<unsigned char>(each);
      result.append({'\\', 'x', hex[octet >> 4], hex[octet & 15]});
    }
  }
  return result;
}

std::string quoted_text(std::string_view text) {
  std::string result(1, '\'');
  return result.append(printable_text(text)).append(1, '\'');
}

}  // namespace starling::sim
