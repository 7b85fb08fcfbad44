// SPDX-License-Identifier: Apache-2.0
// Tests that partition_of() gives the partitions that other programs compute with xxHash.
#include "starling/knn/tables/object_partition.hpp"

#include <array>

#include <gtest/gtest.h>

namespace starling {
namespace {

// The expected numbers were computed with xxHash's own library: XXH64 of the id's eight bytes in
// little-endian order, with seed 0, modulo 64.
TEST(ObjectPartition, OfAnIdIsItsXxh64Modulo64) {
  EXPECT_EQ(partition_of(ObjectId{0}), 59u);
  EXPECT_EQ(partition_of(ObjectId{1}), 21u);
  EXPECT_EQ(partition_of(ObjectId{42}), 19u);
  EXPECT_EQ(partition_of(ObjectId{1234567890123456789}), 10u);
  EXPECT_EQ(partition_of(ObjectId{~std::uint64_t{0}}), 9u);
}

TEST(ObjectPartition, IsAboutEquallyLargeForConsecutiveIds) {
  std::array<int, partition_count> counts{};
  for (std::uint64_t id = 0; id < 64'000; ++id) ++counts[partition_of(ObjectId{id})];
  for (const int count : counts) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1'150);
  }
}

}  // namespace
}  // namespace starling
