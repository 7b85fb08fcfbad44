// Ticks that slow subscribers have lost, from what they report: XPUB drops without telling anyone.
// Sans-IO; RequestHandler is its user. Bounded by sessions and streams.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "knn/query_table.hpp"

namespace starling::stream {

class SubscriberLosses {
 public:
  /// A session says that `lost` ticks of a stream never came since it subscribed to this server.
  /// Returns how many of them are news.
  std::uint64_t report(std::uint64_t session, StreamId stream, std::uint64_t lost);

  void drop_session(std::uint64_t session);

 private:
  std::map<std::pair<std::uint64_t, StreamId>, std::uint64_t> lost_;
};

}  // namespace starling::stream
