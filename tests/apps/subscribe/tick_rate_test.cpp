// SPDX-License-Identifier: Apache-2.0
// Tests the rate of ticks that `starling subscribe` shows above its table.
#include "starling/apps/subscribe/tick_rate.hpp"

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

using std::chrono::milliseconds;

TickRate::TimePoint at(milliseconds time) {
  return TickRate::TimePoint(time);
}

TEST(TickRate, ThereIsNoneBeforeASecondHasPassed) {
  TickRate rate;
  EXPECT_EQ(rate.read(40, at(milliseconds(0))), std::nullopt) << "ticks before the first reading";
  EXPECT_EQ(rate.read(41, at(milliseconds(26))), std::nullopt) << "one tick in a short time";
  EXPECT_EQ(rate.read(49, at(milliseconds(999))), std::nullopt);
  EXPECT_EQ(rate.read(50, at(milliseconds(1000))), 10);
}

TEST(TickRate, EachWindowHasItsOwnRateAndLastsASecondOrMore) {
  TickRate rate;
  rate.read(0, at(milliseconds(0)));
  EXPECT_EQ(rate.read(50, at(milliseconds(5000))), 10);
  EXPECT_EQ(rate.read(60, at(milliseconds(5200))), 10) << "the last window's, until this one ends";
  EXPECT_EQ(rate.read(60, at(milliseconds(7000))), 5);
  EXPECT_EQ(rate.read(60, at(milliseconds(9000))), 0);
}

}  // namespace
}  // namespace starling::apps
