// SPDX-License-Identifier: Apache-2.0
// Tests tag filters bit by bit. Tests the age limit near the smallest and the largest times.
#include "starling/knn/words/filter.hpp"

#include <gtest/gtest.h>

namespace starling {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

TEST(TagFilter, WantsAllRequiredBitsAndNoForbiddenOne) {
  constexpr TagFilter filter{0b011, 0b100};
  EXPECT_TRUE(filter.passes(0b011));
  EXPECT_TRUE(filter.passes(0b1011));
  EXPECT_FALSE(filter.passes(0b001));
  EXPECT_FALSE(filter.passes(0b111));
  EXPECT_FALSE(filter.passes(0));
}

TEST(TagFilter, WithoutBitsPassesEverything) {
  EXPECT_TRUE(TagFilter{}.is_empty());
  EXPECT_TRUE(TagFilter{}.passes(0));
  EXPECT_TRUE(TagFilter{}.passes(~0u));
  EXPECT_FALSE((TagFilter{0, 1}).is_empty());
}

TEST(TagFilter, ThatForbidsWhatItRequiresPassesNothing) {
  constexpr TagFilter filter{0b1, 0b1};
  EXPECT_FALSE(filter.passes(0));
  EXPECT_FALSE(filter.passes(0b1));
}

TEST(AgeLimit, LetsTheExactAgeThrough) {
  EXPECT_EQ(oldest_time_us(100, 30), 70);
  EXPECT_EQ(oldest_time_us(-100, 0), -100);
}

TEST(AgeLimit, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(oldest_time_us(lowest, 1), lowest);
  EXPECT_EQ(oldest_time_us(-2, highest - 1), lowest);
  EXPECT_EQ(oldest_time_us(highest, 0), highest);
}

TEST(AgeLimit, ThatIsNoneLetsEverythingThrough) {
  for (const std::int64_t tau_us : {lowest, std::int64_t{0}, highest})
    EXPECT_EQ(oldest_time_us(tau_us, Filter::any_age), lowest);
}

}  // namespace
}  // namespace starling
