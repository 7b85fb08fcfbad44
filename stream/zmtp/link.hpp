// SPDX-License-Identifier: Apache-2.0
// What the server's loop and an I/O thread share of one connection. A Link outlives its Connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "starling/stream/turns/peer_address.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {
struct RoomOwner;
}

namespace starling::stream::zmtp {

class Connection;
struct Lane;

struct Link {
  Link(std::uint64_t the_number, const PeerAddress& the_address, Lane& the_lane)
      : number(the_number), address(the_address), lane(the_lane) {}

  /// The number of the connection. It is never used again, and the peer cannot choose it.
  const std::uint64_t number;
  const PeerAddress address;
  Lane& lane;                        ///< lane of the connection's thread
  Connection* connection = nullptr;  ///< only the lane's thread reads it; null: closed
  PrincipalId principal = PrincipalId::anonymous;  ///< set before the connection is established

  // Bytes of waiting replies. The loop adds, and the I/O thread subtracts.
  std::atomic<std::size_t> reply_bytes{0};
  std::atomic<bool> is_open{true};
  // Bytes of requests that the loop has not taken. The I/O thread adds, and the loop subtracts.
  std::atomic<std::size_t> request_bytes{0};
  std::atomic<bool> waits_for_loop{false};
  // Whose room the connection takes, the room that ReceiveBudget has granted after a wait, and
  // whether the connection waits for room. The mutex of the ReceiveBudget guards the members.
  RoomOwner* room_owner = nullptr;
  std::size_t granted = 0;
  bool is_waiting = false;
};

}  // namespace starling::stream::zmtp
