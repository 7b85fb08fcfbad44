// SPDX-License-Identifier: Apache-2.0
// Limits how many pages of streams, queries and objects each session reads. A page takes up to a
// millisecond of the loop. SessionStores has a PageRate, and PageReads passes the time.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace starling::stream {

struct PageRateLimits {
  std::int64_t interval_us = 2'000;  ///< average time between pages of one session
  /// How many pages one session may ask for at once: at least 1.
  std::int64_t burst = 256;
};

class PageRate {
 public:
  explicit PageRate(const PageRateLimits& limits) : limits_(limits) {}

  /// Counts a page of the session. Returns 0 if the session may have the page now; else counts
  /// nothing and returns how long to wait before the next try.
  std::int64_t take(std::uint64_t session, std::int64_t now_us);
  void drop_session(std::uint64_t session);

 private:
  PageRateLimits limits_;
  /// The time at which each session's next page is due. The key is the session.
  std::unordered_map<std::uint64_t, std::int64_t> due_us_;
};

}  // namespace starling::stream
