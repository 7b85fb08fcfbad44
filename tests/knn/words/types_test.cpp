// SPDX-License-Identifier: Apache-2.0
// Tests the total order of neighbours and the exact distance, on which every answer depends.
#include "starling/knn/words/types.hpp"

#include <gtest/gtest.h>

namespace starling {
namespace {

constexpr std::int32_t high = (1 << 30) - 1;
constexpr std::int32_t low = -(1 << 30);

TEST(DistanceSq, IsExactBetweenTheFarthestPoints) {
  EXPECT_EQ(distance_sq({low, low, low}, {high, high, high}), 13835058042397261827u);
  EXPECT_EQ(distance_sq({high, low, 0}, {low, high, 0}), 9223372028264841218u);
}

TEST(DistanceSq, IsSymmetricAndZeroOnlyAtThePointItself) {
  EXPECT_EQ(distance_sq({1, 2, 3}, {4, 6, 3}), 25u);
  EXPECT_EQ(distance_sq({4, 6, 3}, {1, 2, 3}), 25u);
  EXPECT_EQ(distance_sq({low, 5, high}, {low, 5, high}), 0u);
  EXPECT_EQ(distance_sq({low, 5, high}, {low, 5, high - 1}), 1u);
}

TEST(TotalOrder, IsNearestFirstThenTheSmallerId) {
  EXPECT_LT((Neighbor{RankKey{1}, ObjectId{9}}), (Neighbor{RankKey{2}, ObjectId{1}}));
  EXPECT_LT((Neighbor{RankKey{1}, ObjectId{1}}), (Neighbor{RankKey{1}, ObjectId{9}}));
  EXPECT_LT((Neighbor{RankKey{1}, ObjectId{1}}),
            (Neighbor{RankKey{1}, ObjectId{~std::uint64_t{0}}}));
  EXPECT_LT((Neighbor{RankKey{1}, ObjectId{1}}),
            (Neighbor{RankKey{std::uint64_t{1} << 63}, ObjectId{0}}));
}

}  // namespace
}  // namespace starling
