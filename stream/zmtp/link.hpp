// SPDX-License-Identifier: Apache-2.0
// What the server's loop and an I/O thread share of one connection. A Link outlives its Connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "starling/stream/turns/peer_address.hpp"
#include "starling/stream/turns/read_turns.hpp"
#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {
struct RoomOwner;
}

namespace starling::stream::zmtp {

class Connection;

/// One of the I/O threads of a listener. `index` counts the threads of this listener.
struct Lane {
  std::size_t index = 0;
  boost::asio::io_context& loop;
  std::shared_ptr<ReadTurns> reads = std::make_shared<ReadTurns>(loop);
};

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
  // The loop sets these: the connection is not read before this time of the steady clock, and
  // whether one of its requests was served.
  std::atomic<std::int64_t> rests_until_us{0};
  std::atomic<bool> is_served{false};
  // Whose room the connection takes, the room that ReceiveBudget has granted after a wait, and
  // whether the connection waits for room. The mutex of the ReceiveBudget guards the members.
  RoomOwner* room_owner = nullptr;
  std::size_t granted = 0;
  bool is_waiting = false;
};

/// Returns who pays for what the connection sends: its principal or, without keys, its address.
inline RequestOwner owner_of(const Link& link) {
  return stream::owner_of(link.principal, link.address);
}

}  // namespace starling::stream::zmtp
