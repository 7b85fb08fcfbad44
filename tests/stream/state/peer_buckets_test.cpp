// SPDX-License-Identifier: Apache-2.0
// Tests the buckets of peers on a virtual clock: their burst, how they fill again, and that their
// memory is bounded.
#include "starling/stream/state/peer_buckets.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

constexpr std::int64_t start_us = 1'000'000;

TEST(PeerBuckets, APeerHasABurstAndThenOneTokenEachInterval) {
  PeerBuckets buckets({.burst = 3, .interval_us = 100, .peers_max = 8});
  for (int token = 0; token < 3; ++token) EXPECT_TRUE(buckets.take(1, start_us));
  EXPECT_FALSE(buckets.take(1, start_us));
  EXPECT_FALSE(buckets.take(1, start_us + 99));
  EXPECT_TRUE(buckets.take(1, start_us + 100));
  EXPECT_FALSE(buckets.take(1, start_us + 199));
  EXPECT_TRUE(buckets.take(2, start_us)) << "another peer's bucket is full";
}

TEST(PeerBuckets, ARefusalAndALookCostNoToken) {
  PeerBuckets buckets({.burst = 1, .interval_us = 100, .peers_max = 8});
  for (int look = 0; look < 10; ++look) EXPECT_TRUE(buckets.has_token(std::uint64_t{1}, start_us));
  EXPECT_TRUE(buckets.take(1, start_us));
  for (int look = 0; look < 10; ++look) EXPECT_FALSE(buckets.take(1, start_us + 99));
  EXPECT_TRUE(buckets.take(1, start_us + 100));
}

TEST(PeerBuckets, PeersBeyondTheLimitShareABucketAndFullBucketsAreForgotten) {
  PeerBuckets buckets({.burst = 2, .interval_us = 100, .peers_max = 2});
  EXPECT_TRUE(buckets.take(1, start_us));
  EXPECT_TRUE(buckets.take(2, start_us));
  EXPECT_TRUE(buckets.take(3, start_us));
  EXPECT_TRUE(buckets.take(4, start_us));
  EXPECT_FALSE(buckets.take(5, start_us));
  EXPECT_TRUE(buckets.take(2, start_us)) << "it has a bucket of its own";
  EXPECT_EQ(buckets.count(), 2u);
  buckets.expire(start_us + 100);
  EXPECT_EQ(buckets.count(), 1u) << "the bucket of a is full again";
  EXPECT_TRUE(buckets.take(5, start_us + 100));
  EXPECT_EQ(buckets.count(), 2u);
}

}  // namespace
}  // namespace starling::stream
