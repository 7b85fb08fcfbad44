// SPDX-License-Identifier: Apache-2.0
// Grants room to waiting connections in their order, so that a flood of one peer starves no other
// peer: see receive_budget.hpp.
#include "starling/stream/sockets/receive_budget.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {

bool ReceiveBudget::take(const std::shared_ptr<zmtp::Link>& link, std::size_t bytes,
                         bool may_overdraw) {
  const std::lock_guard lock(mutex_);
  if (link->granted > 0) {  // granted for this frame: a connection waits for one at a time
    link->granted = 0;
    return true;
  }
  if (link->is_waiting) return false;
  if (may_overdraw || (line_.empty() && fits(bytes))) {
    used_ += bytes;
    return true;
  }
  line_.push_back({link, bytes});
  link->is_waiting = true;
  return false;
}

void ReceiveBudget::give_back(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  while (const auto link = grant_one()) granted_(link);
}

void ReceiveBudget::forget(const std::shared_ptr<zmtp::Link>& link) {
  {
    const std::lock_guard lock(mutex_);
    used_ -= std::exchange(link->granted, 0);
    if (std::exchange(link->is_waiting, false))
      std::erase_if(line_, [&](const Waiting& each) { return each.link == link; });
  }
  while (const auto other = grant_one()) granted_(other);
}

bool ReceiveBudget::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return !line_.empty();
}

std::shared_ptr<zmtp::Link> ReceiveBudget::grant_one() {
  const std::lock_guard lock(mutex_);
  if (line_.empty() || !fits(line_.front().bytes)) return nullptr;
  const Waiting first = std::move(line_.front());
  line_.pop_front();
  used_ += first.bytes;
  first.link->granted = first.bytes;
  first.link->is_waiting = false;
  return first.link;
}

}  // namespace starling::stream
