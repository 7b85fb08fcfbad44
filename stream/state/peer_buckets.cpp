// SPDX-License-Identifier: Apache-2.0
// A bucket is kept as the time at which it will be full. Each taken token moves this time by one
// interval: see peer_buckets.hpp.
#include "starling/stream/state/peer_buckets.hpp"

#include <algorithm>

namespace starling::stream {

bool PeerBuckets::has_token(std::int64_t full_at_us, std::int64_t now_us) const {
  return full_at_us - now_us <= (limits_.burst - 1) * limits_.interval_us;
}

bool PeerBuckets::has_token(std::uint64_t peer, std::int64_t now_us) const {
  const auto found = full_at_us_.find(peer);
  if (found != full_at_us_.end()) return has_token(found->second, now_us);
  return full_at_us_.size() < limits_.peers_max || has_token(others_full_at_us_, now_us);
}

bool PeerBuckets::take(std::uint64_t peer, std::int64_t now_us) {
  if (!has_token(peer, now_us)) return false;
  auto found = full_at_us_.find(peer);
  if (found == full_at_us_.end() && full_at_us_.size() < limits_.peers_max)
    found = full_at_us_.emplace(peer, now_us).first;
  std::int64_t& full_at_us = found == full_at_us_.end() ? others_full_at_us_ : found->second;
  full_at_us = std::max(full_at_us, now_us) + limits_.interval_us;
  return true;
}

void PeerBuckets::expire(std::int64_t now_us) {
  std::erase_if(full_at_us_, [&](const auto& bucket) { return bucket.second <= now_us; });
}

}  // namespace starling::stream
