// SPDX-License-Identifier: Apache-2.0
// The sender of a request, and the request's bytes. The commands endpoint, HTTP and WebSockets pass
// both to ServerCore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/peer_address.hpp"

namespace starling::stream {

/// The peer that sent a request and gets the reply.
struct Peer {
  /// The number of the peer's connection. The server counts connections, so no peer can choose its
  /// number.
  std::uint64_t connection = 0;
  bool has_delimiter = false;  ///< an empty frame precedes each body, as with a REQ socket
  bool in_process = false;     ///< the server's own HTTP endpoint, not a client of the commands
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  zmtp::PeerAddress address{};
  /// Whether the limits of a connection count. Over HTTP, only a WebSocket is a connection; other
  /// requests share the server's own sessions.
  bool has_connection() const { return !in_process || connection != 0; }
  bool operator==(const Peer&) const = default;
};

/// A received frame. `owner` owns the memory of `bytes`.
struct ReceivedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

}  // namespace starling::stream
