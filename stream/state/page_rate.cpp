// SPDX-License-Identifier: Apache-2.0
// A session may read a page up to burst - 1 intervals before it is due: see page_rate.hpp.
#include "starling/stream/state/page_rate.hpp"

#include <algorithm>

namespace starling::stream {

std::int64_t PageRate::take(std::uint64_t session, std::int64_t now_us) {
  const auto found = due_us_.find(session);
  const std::int64_t due_us = found == due_us_.end() ? now_us : std::max(found->second, now_us);
  const std::int64_t allowed_us = now_us + (limits_.burst - 1) * limits_.interval_us;
  if (due_us > allowed_us) return due_us - allowed_us;
  due_us_[session] = due_us + limits_.interval_us;
  return 0;
}

void PageRate::drop_session(std::uint64_t session) {
  due_us_.erase(session);
}

}  // namespace starling::stream
