// SPDX-License-Identifier: Apache-2.0
// Tests at which times TickClock begins ticks. Its wall clock is a virtual clock in these tests.
#include "starling/stream/state/tick_clock.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "starling/knn/base/times.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t period_us = 100;

TEST(TickClock, NothingIsDueBeforeThePeriodIsOver) {
  TickClock clock(period_us, 1000);
  const auto decision = clock.poll(1099, 5000, false);
  EXPECT_FALSE(decision.begin_tau_us);
  EXPECT_EQ(decision.overruns, 0u);
  EXPECT_EQ(clock.next_due_us(), 1100);
}

TEST(TickClock, ATickBeginsAtTheWallClocksTime) {
  TickClock clock(period_us, 1000);
  EXPECT_EQ(clock.poll(1100, 5000, false).begin_tau_us, 5000);
  EXPECT_EQ(clock.next_due_us(), 1200);
}

TEST(TickClock, ATickThatFallsDueWhileTheLastIsUnderWayIsSkippedAndCounted) {
  TickClock clock(period_us, 1000);
  const auto decision = clock.poll(1100, 5000, true);
  EXPECT_FALSE(decision.begin_tau_us);
  EXPECT_EQ(decision.overruns, 1u);
  EXPECT_FALSE(clock.poll(1150, 5050, false).begin_tau_us) << "a skipped tick must not be queued";
  EXPECT_EQ(clock.poll(1200, 5100, false).begin_tau_us, 5100);
}

TEST(TickClock, TicksThatNobodyAskedForAreCountedAndOneBegins) {
  TickClock clock(period_us, 1000);
  const auto decision = clock.poll(1450, 5000, false);
  EXPECT_EQ(decision.begin_tau_us, 5000);
  EXPECT_EQ(decision.overruns, 3u)
      << "those due at 1100, 1200 and 1300; the one due at 1400 begins";
  EXPECT_EQ(clock.next_due_us(), 1500);
}

TEST(TickClock, TauNeverDecreasesWhenTheWallClockIsSetBack) {
  TickClock clock(period_us, 1000);
  EXPECT_EQ(clock.poll(1100, 5000, false).begin_tau_us, 5000);
  EXPECT_EQ(clock.poll(1200, 1234, false).begin_tau_us, 5000);
  EXPECT_EQ(clock.poll(1300, 5001, false).begin_tau_us, 5001);
}

TEST(TickClock, TauStaysInTheRangeOfTimes) {
  TickClock clock(period_us, 1000);
  EXPECT_EQ(clock.poll(1100, std::numeric_limits<std::int64_t>::min(), false).begin_tau_us,
            -time_us_limit);
  EXPECT_EQ(clock.poll(1200, std::numeric_limits<std::int64_t>::max(), false).begin_tau_us,
            time_us_limit);
}

}  // namespace
}  // namespace starling::stream
