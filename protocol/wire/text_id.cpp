// SPDX-License-Identifier: Apache-2.0
// Parses decimal ids and hashes all other texts: see text_id.hpp.
#include "starling/protocol/wire/text_id.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

#include <xxhash.h>

namespace starling::protocol {
namespace {

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

bool is_decimal_id(std::string_view text) {
  return parse_decimal(text).has_value();
}

ObjectId id_of_text(std::string_view text) {
  if (const auto number = parse_decimal(text)) return ObjectId{*number};
  return ObjectId{XXH64(text.data(), text.size(), 0)};
}

}  // namespace starling::protocol
