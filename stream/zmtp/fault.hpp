// SPDX-License-Identifier: Apache-2.0
// Why the server cuts a connection. Listener counts each reason, and the metrics show the counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace starling::stream::zmtp {

enum class Fault : std::uint8_t {
  greeting,     ///< the first 64 bytes are not those of ZMTP 3
  mechanism,    ///< the peer's mechanism is not the server's
  handshake,    ///< a command of the handshake is malformed, or comes out of turn
  socket_type,  ///< the peer's socket type does not fit the endpoint
  key,          ///< the peer's key is not admitted
  too_late,     ///< the handshake took too long
  gave_way,     ///< its handshake, or its connection, gave its place to another one (Places)
  frame,        ///< reserved bits of a frame are set, or a command has parts
  too_long,     ///< a frame or an unfinished message is longer than the limit
  too_many_parts,
  command,    ///< a command after the handshake is malformed
  box,        ///< an encrypted frame is forged, or its number has come before
  topics,     ///< the connection has subscribed to too many topics, or to too long ones
  forbidden,  ///< the peer may not subscribe to the topic
  silent,     ///< nothing came for too long, not even an answer to a PING
  stalled,    ///< an unfinished request kept memory that other connections waited for
  revoked,    ///< the server's owner has cut the principal
  memory,     ///< there is no memory for the request
  internal,   ///< the server itself failed while it served the connection
};

inline constexpr std::size_t fault_count = static_cast<std::size_t>(Fault::internal) + 1;

/// Returns the name that the metrics show.
inline std::string_view to_string(Fault fault) {
  static constexpr std::array<std::string_view, fault_count> names{
      "greeting", "mechanism", "handshake", "socket_type", "key",     "too_late", "gave_way",
      "frame",    "too_long",  "parts",     "command",     "box",     "topics",   "forbidden",
      "silent",   "stalled",   "revoked",   "memory",      "internal"};
  return names[static_cast<std::size_t>(fault)];
}

/// How often each fault has cut a connection. Any thread may call the functions.
class FaultCounts {
 public:
  void add(Fault fault) { ++counts_[static_cast<std::size_t>(fault)]; }
  std::uint64_t of(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }

 private:
  std::array<std::atomic<std::uint64_t>, fault_count> counts_{};
};

}  // namespace starling::stream::zmtp
