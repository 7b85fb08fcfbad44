// SPDX-License-Identifier: Apache-2.0
// Divides the room by the owners that have bodies at the time: see http_bodies.hpp.
#include "starling/stream/sockets/http_bodies.hpp"

#include <utility>

namespace starling::stream {

bool HttpBodies::take(const RequestOwner& owner, std::size_t bytes) {
  const auto found = bytes_of_.try_emplace(owner, 0).first;
  const bool has_bodies = found->second > 0;
  const bool is_full = bytes_ + bytes > bytes_max_;
  if (is_full && has_bodies && found->second + bytes > bytes_max_ / bytes_of_.size()) return false;
  found->second += bytes;
  bytes_ += bytes;
  return true;
}

void HttpBodies::wait(const RequestOwner& owner, std::size_t bytes,
                      std::weak_ptr<const GoOn> go_on) {
  std::erase_if(waiting_, [](const Waiting& each) { return each.go_on.expired(); });
  waiting_.push_back({owner, bytes, std::move(go_on)});
}

void HttpBodies::give_back(const RequestOwner& owner, std::size_t bytes) {
  const auto found = bytes_of_.find(owner);
  bytes_ -= bytes;
  found->second -= bytes;
  if (found->second == 0) bytes_of_.erase(found);
  std::deque<std::shared_ptr<const GoOn>> granted;
  std::erase_if(waiting_, [&](const Waiting& each) {
    auto go_on = each.go_on.lock();
    if (go_on == nullptr) return true;
    if (!take(each.owner, each.bytes)) return false;
    granted.push_back(std::move(go_on));
    return true;
  });
  for (const auto& go_on : granted) (*go_on)();
}

}  // namespace starling::stream
