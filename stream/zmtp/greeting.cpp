// SPDX-License-Identifier: Apache-2.0
// ZMTP 3.1 (RFC 37), section Greeting: signature, version, mechanism, as-server, filler. See
// greeting.hpp.
#include "starling/stream/zmtp/greeting.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace starling::stream::zmtp {

namespace {

constexpr std::size_t signature_end = 9;
constexpr std::size_t major_at = 10;
constexpr std::size_t minor_at = 11;
constexpr std::size_t mechanism_at = 12;
constexpr std::size_t mechanism_bytes = 20;
constexpr std::size_t as_server_at = 32;
constexpr std::uint8_t major = 3;
constexpr std::uint8_t minor = 1;

std::string_view name_of(MechanismName mechanism) {
  return mechanism == MechanismName::curve ? "CURVE" : "NULL";
}

bool is_named(std::span<const std::byte, mechanism_bytes> field, std::string_view name) {
  const bool begins = std::memcmp(field.data(), name.data(), name.size()) == 0;
  return begins && std::ranges::all_of(field.subspan(name.size()),
                                       [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

bool may_be_greeting(std::span<const std::byte> begin) {
  if (!begin.empty() && begin[0] != std::byte{0xff}) return false;
  if (begin.size() > signature_end && begin[signature_end] != std::byte{0x7f}) return false;
  return begin.size() <= major_at || std::to_integer<std::uint8_t>(begin[major_at]) >= major;
}

std::optional<Greeting> parse_greeting(std::span<const std::byte, greeting_bytes> bytes) {
  if (!may_be_greeting(bytes)) return std::nullopt;
  Greeting greeting;
  // The minor number of a later major version may mean anything. A peer of a later version speaks
  // 3.1 with this server.
  greeting.minor = std::to_integer<std::uint8_t>(bytes[major_at]) > major
                       ? minor
                       : std::to_integer<std::uint8_t>(bytes[minor_at]);
  const auto field = bytes.subspan<mechanism_at, mechanism_bytes>();
  greeting.mechanism = is_named(field, "NULL")    ? MechanismName::null
                       : is_named(field, "CURVE") ? MechanismName::curve
                                                  : MechanismName::other;
  greeting.as_server = bytes[as_server_at] != std::byte{0};
  return greeting;
}

std::array<std::byte, greeting_bytes> server_greeting(MechanismName mechanism) {
  std::array<std::byte, greeting_bytes> bytes{};
  bytes[0] = std::byte{0xff};
  bytes[signature_end] = std::byte{0x7f};
  bytes[major_at] = std::byte{major};
  bytes[minor_at] = std::byte{minor};
  const std::string_view name = name_of(mechanism);
  std::memcpy(bytes.data() + mechanism_at, name.data(), name.size());
  bytes[as_server_at] = std::byte{mechanism == MechanismName::curve};
  return bytes;
}

}  // namespace starling::stream::zmtp
