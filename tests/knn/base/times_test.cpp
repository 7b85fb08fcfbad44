// SPDX-License-Identifier: Apache-2.0
// Tests arithmetic on times at the ends of its range. A sum or difference beyond std::int64_t must
// stay at the end of the range.
#include "starling/knn/base/times.hpp"

#include <array>

#include <gtest/gtest.h>

namespace starling {
namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

__extension__ using Wide = __int128;

std::int64_t clamped(Wide value) {
  if (value < lowest) return lowest;
  if (value > highest) return highest;
  return static_cast<std::int64_t>(value);
}

TEST(Times, SumsAndDifferencesAreExactOrStayAtTheEndOfTheRange) {
  constexpr std::array values{lowest,           lowest + 1,      -time_us_limit,
                              std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                              time_us_limit,    highest - 1,     highest};
  for (const std::int64_t time_us : values) {
    for (const std::int64_t duration_us : values) {
      EXPECT_EQ(saturating_add(time_us, duration_us), clamped(Wide{time_us} + duration_us))
          << time_us << " + " << duration_us;
      EXPECT_EQ(saturating_sub(time_us, duration_us), clamped(Wide{time_us} - duration_us))
          << time_us << " - " << duration_us;
    }
  }
}

TEST(Times, ATimeIsAtMostTwoToThe61FromZero) {
  EXPECT_TRUE(is_time(time_us_limit));
  EXPECT_TRUE(is_time(-time_us_limit));
  EXPECT_FALSE(is_time(time_us_limit + 1));
  EXPECT_FALSE(is_time(-time_us_limit - 1));
}

}  // namespace
}  // namespace starling
