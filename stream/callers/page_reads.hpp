// SPDX-License-Identifier: Apache-2.0
// Answers that read a table page by page. A page begins at a slot of its table, and ends after a
// bounded number of slots, so that no page holds the loop for longer than about a millisecond. The
// server keeps nothing between two pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "starling/protocol/wire/frame.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/page_rate.hpp"

namespace starling::stream {

/// The slots that one page looks at, from the request's `page` on.
struct Walk {
  /// The most slots of queries or streams that one page looks at.
  static constexpr std::size_t queries_walked_max = 8192;

  Walk(std::uint64_t page, std::size_t end_slot, std::size_t slots_max)
      : first(static_cast<std::size_t>(std::min<std::uint64_t>(page, end_slot))),
        next(first),
        page_end(std::min(end_slot, first + slots_max)),
        table_end(end_slot) {}

  std::size_t walked() const { return next - first; }
  std::uint64_t next_page() const { return next < table_end ? next : 0; }

  std::size_t first;
  std::size_t next;
  std::size_t page_end;
  std::size_t table_end;
};

/// Only the loop calls the functions.
class PageReads {
 public:
  PageReads(const ServerOptions& options, Executor& executor, PageRate& rate, Replies& replies,
            Metrics& metrics)
      : options_(options), executor_(executor), rate_(rate), replies_(replies), metrics_(metrics) {}

  /// Returns the most rows that a page may have: the request's `rows_max`, or the server's
  /// page_rows_max if that is 0. If the session has asked for too many pages, refuses the request
  /// and returns 0.
  std::size_t rows_max(const Caller& caller, std::uint32_t rows_max);

  /// Sends a page. The metrics count its `walked` slots and the time since `since_us`.
  void send(const Caller& caller, const protocol::Frame& frame, std::size_t walked,
            std::int64_t since_us);
  std::int64_t now_us() const { return executor_.now_us(); }

 private:
  const ServerOptions& options_;
  Executor& executor_;
  PageRate& rate_;
  Replies& replies_;
  Metrics& metrics_;
};

}  // namespace starling::stream
