// SPDX-License-Identifier: Apache-2.0
// The key pair of a server that speaks CURVE, and the function that decides which peers it admits.
// Access owns an Authentication for each ZeroMQ endpoint, and CurveHandshake uses it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace starling::stream::zmtp {

using PublicKey = std::array<std::uint8_t, 32>;

/// The principal of a connection.
enum class PrincipalId : std::uint32_t { anonymous = 0 };

/// Without an Authentication, the server speaks the mechanism NULL, and every peer is anonymous.
struct Authentication {
  std::array<std::uint8_t, 32> server_public{};
  std::array<std::uint8_t, 32> server_secret{};
  /// Returns the principal that has the key; std::nullopt: the peer gets the ZMTP command ERROR and
  /// is cut. Several I/O threads may call it at the same time.
  std::function<std::optional<PrincipalId>(const PublicKey&)> admit;
};

}  // namespace starling::stream::zmtp
