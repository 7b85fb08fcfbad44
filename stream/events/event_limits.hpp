// SPDX-License-Identifier: Apache-2.0
// The limits of streams that are read over HTTP, and the counters of their readers. ServerOptions
// has the limits, and EventHub the counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace starling::stream {

struct EventLimits {
  unsigned readers_max = 128;  ///< the most connections that get events, over all streams
  /// The most bytes of one snapshot as JSON, and the most bytes of one stream's ticks that are held
  /// for readers.
  std::size_t bytes_max = std::size_t{16} << 20;
  std::size_t ticks_max = 1024;  ///< the most ticks of one stream that are held for readers
  /// The least time between two flushes of one stream to its readers, so that the thread is not
  /// busy with short writes if ticks are more frequent. Each reader still gets each tick.
  std::int64_t flush_us = 20'000;
  /// A reader is disconnected if it reads nothing for this long although events wait.
  std::int64_t stall_us = 30'000'000;
  std::int64_t heartbeat_us = 15'000'000;  ///< an idle reader gets a comment this often
  /// How long a stream's ticks are held after its last reader has left, for readers that come back.
  std::int64_t linger_us = 30'000'000;
};

/// Counts from the start of the server. Any thread may read and change them.
struct EventCounts {
  std::atomic<std::uint64_t> sent{0};     ///< events sent to all readers
  std::atomic<std::uint64_t> dropped{0};  ///< ticks that readers missed
  std::atomic<std::uint64_t> gaps{0};     ///< `gap` events sent to all readers
  std::atomic<std::uint64_t> stalled{0};  ///< readers that were disconnected because of stall_us
};

}  // namespace starling::stream
