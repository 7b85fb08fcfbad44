// SPDX-License-Identifier: Apache-2.0
// Counts the ticks that slow subscribers have lost. A message may also be lost beyond the
// server, so the counts come from the subscribers' own reports. SessionStores has a
// SubscriberLosses, with at most one entry for each session and stream.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "starling/knn/words/query.hpp"

namespace starling::stream {

class SubscriberLosses {
 public:
  /// Records a session's report that it has lost `lost` ticks of a stream since it subscribed.
  /// Returns how many of these ticks earlier reports did not contain. `published` is the number of
  /// ticks that the stream has published. All results for one session and stream together are at
  /// most `published`, so a false report does little harm.
  std::uint64_t report(std::uint64_t session, StreamId stream, std::uint64_t lost,
                       std::uint64_t published);

  void drop_session(std::uint64_t session);
  /// Call it when a stream is removed, because a new stream may get its number.
  void drop_stream(StreamId stream);

 private:
  struct Lost {
    std::uint64_t reported = 0;  ///< `lost` of the last report
    std::uint64_t believed = 0;  ///< the sum of all results of report()
  };
  std::map<std::pair<std::uint64_t, StreamId>, Lost> lost_;
};

}  // namespace starling::stream
