// SPDX-License-Identifier: Apache-2.0
// Ticks that slow subscribers have lost, from what they report: XPUB drops without telling anyone.
// Sans-IO; RequestHandler is its user. Bounded by sessions and streams.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "starling/knn/tables/query_table.hpp"

namespace starling::stream {

class SubscriberLosses {
 public:
  /// A session says that `lost` ticks of a stream never came since it subscribed to this server.
  /// Returns how many of them were not reported before. A false report counts for at most the
  /// `published` ticks, each once.
  std::uint64_t report(std::uint64_t session, StreamId stream, std::uint64_t lost,
                       std::uint64_t published);

  void drop_session(std::uint64_t session);

 private:
  struct Lost {
    std::uint64_t reported = 0;  ///< by the last report
    std::uint64_t believed = 0;  ///< in all
  };
  std::map<std::pair<std::uint64_t, StreamId>, Lost> lost_;
};

}  // namespace starling::stream
