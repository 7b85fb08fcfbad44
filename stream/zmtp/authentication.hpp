// SPDX-License-Identifier: Apache-2.0
// The keys of a server that speaks CURVE, and the question whom it admits. The server's options
// hold an Authentication, and curve_handshake.cpp asks it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace starling::stream::zmtp {

using PublicKey = std::array<std::uint8_t, 32>;

/// Who a connection belongs to.
enum class PrincipalId : std::uint32_t { anonymous = 0 };

/// Without an Authentication, the server speaks the mechanism NULL, and every peer is anonymous.
struct Authentication {
  std::array<std::uint8_t, 32> server_public{};
  std::array<std::uint8_t, 32> server_secret{};
  /// Returns whom the key belongs to. I/O threads call it, several at a time. std::nullopt: the
  /// peer gets the ZMTP command ERROR and is cut.
  std::function<std::optional<PrincipalId>(const PublicKey&)> admit;
};

}  // namespace starling::stream::zmtp
