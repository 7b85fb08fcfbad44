// SPDX-License-Identifier: Apache-2.0
// A token bucket for each peer, in bounded memory. A bucket limits how often its peer may do
// something. SessionRequests limits guesses of session ids, Replies limits lines of the log, and
// TokenGate limits wrong tokens. The caller passes the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace starling::stream {

struct PeerBucketLimits {
  std::int64_t burst = 1;  ///< tokens of a full bucket: at least 1
  /// Time in which a bucket gets one token.
  std::int64_t interval_us = 1;
  std::size_t peers_max = 1u << 12;  ///< further peers share one bucket
};

class PeerBuckets {
 public:
  explicit PeerBuckets(const PeerBucketLimits& limits) : limits_(limits) {}

  /// Returns whether the peer has a token left, without taking it.
  bool has_token(std::uint64_t peer, std::int64_t now_us) const;
  /// Takes a token from the peer's bucket. Returns false if the bucket is empty.
  bool take(std::uint64_t peer, std::int64_t now_us);

  /// Forgets the peers whose buckets are full again. Call it about once a second.
  void expire(std::int64_t now_us);

  std::size_t count() const { return full_at_us_.size(); }

 private:
  bool has_token(std::int64_t full_at_us, std::int64_t now_us) const;

  PeerBucketLimits limits_;
  /// The time when the bucket of each peer will be full. The number of missing tokens follows from
  /// it.
  std::unordered_map<std::uint64_t, std::int64_t> full_at_us_;
  /// The time when the bucket that all further peers share will be full.
  std::int64_t others_full_at_us_ = 0;
};

}  // namespace starling::stream
