// SPDX-License-Identifier: Apache-2.0
// Grants room in the order of asking, so that a flood of one peer starves no other: see
// receive_budget.hpp.
#include "starling/stream/sockets/receive_budget.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {

bool ReceiveBudget::take(const std::shared_ptr<zmtp::Link>& link, std::size_t bytes,
                         bool may_overdraw) {
  const std::lock_guard lock(mutex_);
  if (link->granted > 0) {  // for this frame: a connection waits for one frame at a time
    link->granted = 0;
    return true;
  }
  if (link->is_waiting) return false;
  if (may_overdraw || (line_.empty() && fits(bytes))) {
    used_ += bytes;
    return true;
  }
  link->is_waiting = true;
  line_.push_back({link, bytes});
  return false;
}

void ReceiveBudget::give_back(std::size_t bytes) {
  std::vector<std::shared_ptr<zmtp::Link>> links;
  {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    links = grant();
  }
  tell(links);
}

void ReceiveBudget::forget(const std::shared_ptr<zmtp::Link>& link) {
  std::vector<std::shared_ptr<zmtp::Link>> links;
  {
    const std::lock_guard lock(mutex_);
    used_ -= std::exchange(link->granted, 0);
    if (std::exchange(link->is_waiting, false))
      std::erase_if(line_, [&](const Waiting& each) { return each.link == link; });
    links = grant();
  }
  tell(links);
}

bool ReceiveBudget::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return !line_.empty();
}

std::vector<std::shared_ptr<zmtp::Link>> ReceiveBudget::grant() {
  std::vector<std::shared_ptr<zmtp::Link>> links;
  while (!line_.empty() && fits(line_.front().bytes)) {
    Waiting& first = line_.front();
    used_ += first.bytes;
    first.link->granted = first.bytes;
    first.link->is_waiting = false;
    links.push_back(std::move(first.link));
    line_.pop_front();
  }
  return links;
}

void ReceiveBudget::tell(const std::vector<std::shared_ptr<zmtp::Link>>& links) const {
  for (const auto& link : links) granted_(link);
}

}  // namespace starling::stream
