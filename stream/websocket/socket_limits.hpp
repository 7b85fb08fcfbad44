// SPDX-License-Identifier: Apache-2.0
// The limits of WebSockets, and the counters of all of them. ServerOptions has the limits, and
// SocketHub the counters. One socket whose client reads nothing costs the server at most 16 MiB:
// what its view holds (3.2 MB), the messages that wait (6 MiB), further replies (4 MiB) and what
// the system keeps (0.5 MiB). A test measures it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace starling::stream {

struct SocketLimits {
  unsigned sockets_max = 16;
  std::size_t message_bytes_max = std::size_t{1} << 20;  ///< of a message from a client
  std::int64_t message_us = 10'000'000;                  ///< in which it must arrive
  std::size_t received_bytes_per_s = std::size_t{2} << 20;
  unsigned requests_max = 2;  ///< of a socket, that wait for their replies
  std::size_t reply_bytes_max = std::size_t{2} << 20;
  std::size_t streams_max = 16;  ///< that a socket follows
  /// A tick of a followed stream is lost if more bytes would wait for a socket, or for the thread.
  std::size_t follow_bytes_max = std::size_t{6} << 20;
  std::size_t entering_bytes_max = std::size_t{2} << 20;  ///< of objects that enter at once
  unsigned pings_burst = 64;
  std::int64_t ping_us = 125'000;     ///< after that, the least time between two pings
  std::int64_t idle_us = 30'000'000;  ///< a silent client is asked after half of it, then closed
  std::int64_t close_us = 2'000'000;  ///< for a client to answer the server's close
  std::size_t copied_rows_max = 100'000;  ///< of a tick, that the loop copies for views: 0.9 ms
};

/// Counts from the start of the server. Any thread may read and change them.
struct SocketCounts {
  std::atomic<unsigned> sockets{0};            ///< that are open
  std::atomic<unsigned> views{0};              ///< that are shown
  std::atomic<std::uint64_t> messages{0};      ///< sent
  std::atomic<std::uint64_t> bytes{0};         ///< of these messages
  std::atomic<std::uint64_t> lost_ticks{0};    ///< of followed streams, because a client was slow
  std::atomic<std::uint64_t> broken_rules{0};  ///< sockets that were closed because of a bad frame
  std::atomic<std::uint64_t> stalled{0};       ///< sockets that were closed because of silence
};

}  // namespace starling::stream
