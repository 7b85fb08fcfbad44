// SPDX-License-Identifier: Apache-2.0
// Tests how many pages a session may have at once and over time, with a virtual clock.
#include "starling/stream/state/page_rate.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

TEST(PageRate, ASessionHasItsBurstAndThenOnePageAnInterval) {
  PageRate rate({.interval_us = 1000, .burst = 3});
  for (int page = 0; page < 3; ++page) EXPECT_EQ(rate.take(7, 5000), 0);
  EXPECT_EQ(rate.take(7, 5000), 1000);
  EXPECT_EQ(rate.take(7, 5400), 600);
  EXPECT_EQ(rate.take(7, 6000), 0);
  EXPECT_EQ(rate.take(7, 6000), 1000);
  EXPECT_EQ(rate.take(8, 6000), 0);
}

TEST(PageRate, ASessionThatWaitedHasNoMoreThanItsBurst) {
  PageRate rate({.interval_us = 1000, .burst = 2});
  EXPECT_EQ(rate.take(7, 0), 0);
  EXPECT_EQ(rate.take(7, 1'000'000), 0);
  EXPECT_EQ(rate.take(7, 1'000'000), 0);
  EXPECT_EQ(rate.take(7, 1'000'000), 1000);
}

TEST(PageRate, ADroppedSessionBeginsAgain) {
  PageRate rate({.interval_us = 1000, .burst = 1});
  EXPECT_EQ(rate.take(7, 0), 0);
  EXPECT_EQ(rate.take(7, 0), 1000);
  rate.drop_session(7);
  EXPECT_EQ(rate.take(7, 0), 0);
}

}  // namespace
}  // namespace starling::stream
