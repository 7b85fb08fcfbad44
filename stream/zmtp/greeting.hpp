// SPDX-License-Identifier: Apache-2.0
// The first 64 bytes that each side of a ZMTP 3 connection sends. Session reads and writes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace starling::stream::zmtp {

inline constexpr std::size_t greeting_bytes = 64;

enum class MechanismName : std::uint8_t { null, curve, other };

struct Greeting {
  std::uint8_t minor = 0;  ///< minor number of the version 3.minor
  MechanismName mechanism = MechanismName::null;
  bool as_server = false;
};

/// Returns whether a greeting of ZMTP 3 or later may begin with these bytes.
bool may_be_greeting(std::span<const std::byte> begin);

/// Returns std::nullopt if the bytes are not a greeting of ZMTP 3 or later.
std::optional<Greeting> parse_greeting(std::span<const std::byte, greeting_bytes> bytes);

/// Returns the greeting of a server that speaks ZMTP 3.1.
std::array<std::byte, greeting_bytes> server_greeting(MechanismName mechanism);

}  // namespace starling::stream::zmtp
