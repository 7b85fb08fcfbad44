// SPDX-License-Identifier: Apache-2.0
// What the server's loop and an I/O thread share of one connection. A Link outlives its Connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream::zmtp {

class Connection;
struct Lane;

struct Link {
  Link(std::uint64_t the_number, Lane& the_lane) : number(the_number), lane(the_lane) {}

  /// The connection's number, never used again and not the peer's choice.
  const std::uint64_t number;
  Lane& lane;                        ///< lane of the connection's thread
  Connection* connection = nullptr;  ///< only the lane's thread reads it; null: closed
  PrincipalId principal = PrincipalId::anonymous;  ///< set before the connection is established

  // Replies: the loop adds, the thread subtracts.
  std::atomic<std::size_t> reply_bytes{0};
  std::atomic<bool> is_open{true};
  // Requests that the loop has not taken: the thread adds, the loop subtracts.
  std::atomic<std::size_t> request_bytes{0};
  std::atomic<bool> waits_for_loop{false};
  // Room that ReceiveBudget has granted after a wait. Its mutex guards both.
  std::size_t granted = 0;
  bool is_waiting = false;
};

}  // namespace starling::stream::zmtp
