// SPDX-License-Identifier: Apache-2.0
// The limits of WebSockets, and the counters of all of them. ServerOptions has the limits, and
// SocketHub the counters. One socket whose client reads nothing costs the server at most 16 MiB:
// its view (3.2 MB), the messages that wait (6 MiB), further replies (4 MiB) and the system's send
// buffer (0.5 MiB). A test measures it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace starling::stream {

struct SocketLimits {
  unsigned sockets_max = 16;
  /// The most bytes of a message from a client.
  std::size_t message_bytes_max = std::size_t{1} << 20;
  std::int64_t message_us = 10'000'000;  ///< time in which a message must arrive
  std::size_t received_bytes_per_s = std::size_t{2} << 20;
  unsigned requests_max = 2;  ///< the most requests of a socket that wait for their replies
  std::size_t reply_bytes_max = std::size_t{2} << 20;
  std::size_t streams_max = 16;  ///< the most streams that a socket follows
  /// A tick of a followed stream is lost if more bytes would wait for a socket, or for the thread.
  std::size_t follow_bytes_max = std::size_t{6} << 20;
  /// The most bytes of objects that enter a view with one message.
  std::size_t entering_bytes_max = std::size_t{2} << 20;
  unsigned pings_burst = 64;
  std::int64_t ping_us = 125'000;     ///< least time between two pings when the burst is used up
  std::int64_t idle_us = 30'000'000;  ///< silent clients are pinged after half of it, then cut
  std::int64_t close_us = 2'000'000;  ///< time in which a client must answer the server's close
  /// The most rows of a tick that the loop copies for views. The copy takes 0.9 ms.
  std::size_t copied_rows_max = 100'000;
};

/// Counts from the start of the server. Any thread may read and change them.
struct SocketCounts {
  std::atomic<unsigned> views{0};          ///< number of views that are shown
  std::atomic<std::uint64_t> messages{0};  ///< number of messages sent
  std::atomic<std::uint64_t> bytes{0};     ///< bytes of the sent messages
  /// Ticks of followed streams that were lost because a client was slow.
  std::atomic<std::uint64_t> lost_ticks{0};
  std::atomic<std::uint64_t> broken_rules{0};  ///< sockets that were closed because of a bad frame
  std::atomic<std::uint64_t> stalled{0};       ///< sockets that were closed because of silence
};

}  // namespace starling::stream
