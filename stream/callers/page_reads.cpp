// SPDX-License-Identifier: Apache-2.0
// Refuses pages beyond the session's rate, and counts those that are sent: see page_reads.hpp.
#include "starling/stream/callers/page_reads.hpp"

#include <string>
#include <utility>

#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

std::size_t PageReads::rows_max(const Caller& caller, std::uint32_t rows_max) {
  const std::int64_t wait_us = rate_.take(caller.head.session, executor_.now_us());
  if (wait_us == 0) return rows_max == 0 ? options_.limits.page_rows_max : rows_max;
  auto limit = reached("session-pages-burst", options_);
  replies_.refuse(caller,
                  {protocol::ErrorCode::busy,
                   "The session has asked for as many pages as " + to_string(limit) +
                       " allows; ask again in " + std::to_string(wait_us / 1000 + 1) + " ms.",
                   std::move(limit)});
  return 0;
}

void PageReads::send(const Caller& caller, const protocol::Frame& frame, std::size_t walked,
                     std::int64_t since_us) {
  replies_.send(caller, frame);
  metrics_.page_read(walked, executor_.ms_since(since_us));
}

}  // namespace starling::stream
