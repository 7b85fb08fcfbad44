// SPDX-License-Identifier: Apache-2.0
// Tests which time DisciplinedClock gives for a steady clock and a wall clock that is set forward
// and back. Both clocks are virtual.
#include "starling/stream/state/disciplined_clock.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "starling/knn/base/times.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t hour_us = 3600 * second_us;
constexpr std::int64_t start_us = 1'700'000'000 * second_us;
constexpr std::int64_t wait_us = 60 * second_us;

class Clocks : public testing::Test {
 protected:
  Clocks() { clock.read(steady_us, start_us); }

  std::int64_t wall_us() const { return start_us + steady_us - 5000 + set_us; }
  /// Lets time pass in steps of `tick_us`, and returns the clock's time at the end.
  std::int64_t pass(std::int64_t duration_us, std::int64_t tick_us = 100'000) {
    for (std::int64_t passed_us = 0; passed_us < duration_us; passed_us += tick_us) {
      steady_us += tick_us;
      time_us = clock.read(steady_us, wall_us());
    }
    return time_us;
  }

  DisciplinedClock clock{wait_us};
  std::int64_t steady_us = 5000;
  std::int64_t time_us = 0;  ///< the time that the clock gave last
  std::int64_t set_us = 0;   ///< how far the wall clock was set, altogether
};

TEST_F(Clocks, TheTimeIsTheWallClocksWhileNobodySetsIt) {
  pass(10 * second_us);
  EXPECT_EQ(time_us, wall_us());
  EXPECT_EQ(clock.steps(), 0u);
  EXPECT_FALSE(clock.sentence());
}

TEST_F(Clocks, AnHourForwardAndBackIsCountedAndNotFollowed) {
  pass(second_us);
  set_us = hour_us;
  const std::int64_t meanwhile_us = pass(200'000);
  EXPECT_EQ(meanwhile_us, wall_us() - hour_us);
  EXPECT_EQ(clock.offset_us(), hour_us);
  EXPECT_EQ(clock.adopt(), 0);
  set_us = 0;
  pass(100'000);
  EXPECT_EQ(time_us, wall_us());
  EXPECT_EQ(clock.steps(), 2u);
}

TEST_F(Clocks, AnHourBackAndForwardIsCountedAndNotFollowed) {
  set_us = -hour_us;
  pass(wait_us - second_us);
  EXPECT_EQ(time_us, wall_us() + hour_us);
  set_us = 0;
  pass(100'000);
  EXPECT_EQ(time_us, wall_us());
  EXPECT_EQ(clock.steps(), 2u);
}

TEST_F(Clocks, ASecondIsSlewedByATenth) {
  set_us = second_us;
  const std::int64_t before_us = pass(100'000);
  EXPECT_EQ(pass(second_us) - before_us, 1'100'000);
  pass(10 * second_us);
  EXPECT_EQ(time_us, wall_us());
  set_us = 0;
  const std::int64_t ahead_us = pass(100'000);
  EXPECT_EQ(pass(second_us) - ahead_us, 900'000);
  pass(10 * second_us);
  EXPECT_EQ(time_us, wall_us());
  EXPECT_EQ(clock.steps(), 0u);
}

TEST_F(Clocks, ReadingOftenSlewsAsFastAsReadingSeldom) {
  set_us = second_us / 2;
  const std::int64_t before_us = pass(1, 1);
  EXPECT_EQ(pass(100'000, 1) - before_us, 110'000);
}

TEST_F(Clocks, AStepForwardThatLastsIsAdoptedAtOnceAndOnce) {
  set_us = 20 * hour_us;
  pass(wait_us);
  EXPECT_EQ(clock.adopt(), 0) << "it must last for all of the wait";
  pass(100'000);
  EXPECT_EQ(clock.adopt(), 20 * hour_us);
  EXPECT_EQ(clock.adopt(), 0);
  pass(second_us);
  EXPECT_EQ(time_us, wall_us());
  EXPECT_EQ(clock.steps(), 1u);
}

TEST_F(Clocks, AnotherStepMeanwhileBeginsTheWaitAnew) {
  set_us = hour_us;
  pass(wait_us - second_us);
  set_us = 2 * hour_us;
  pass(wait_us - second_us);
  EXPECT_EQ(clock.adopt(), 0);
  EXPECT_EQ(clock.steps(), 2u);
  pass(2 * second_us);
  EXPECT_EQ(clock.adopt(), 2 * hour_us);
}

TEST_F(Clocks, AStepBackThatLastsIsMadeUpForAtHalfSpeed) {
  set_us = -100 * second_us;
  pass(wait_us);
  const std::int64_t before_us = pass(100'000);
  EXPECT_EQ(clock.adopt(), 0) << "time never goes back";
  EXPECT_EQ(pass(10 * second_us) - before_us, 5 * second_us);
  pass(250 * second_us);
  EXPECT_EQ(time_us, wall_us());
}

TEST_F(Clocks, ATimeOfALogAheadOfTheWallClockIsMadeUpForAtHalfSpeed) {
  clock = DisciplinedClock(wait_us);
  clock.go_on_from(wall_us() + 100 * second_us);
  const std::int64_t first_us = clock.read(steady_us, wall_us());
  EXPECT_EQ(first_us, wall_us() + 100 * second_us);
  EXPECT_EQ(clock.steps(), 1u);
  EXPECT_TRUE(clock.sentence());
  pass(wait_us);
  EXPECT_NEAR(static_cast<double>(time_us - first_us), wait_us, 200'000);
  pass(198 * second_us);
  EXPECT_NEAR(static_cast<double>(time_us - wall_us()), 1'000'000, 50'000) << "half speed ends";
  pass(20 * second_us);
  EXPECT_EQ(time_us, wall_us());
}

TEST_F(Clocks, ATimeOfALogBehindTheWallClockChangesNothing) {
  clock = DisciplinedClock(wait_us);
  clock.go_on_from(wall_us() - hour_us);
  EXPECT_EQ(clock.read(steady_us, wall_us()), wall_us());
  EXPECT_EQ(clock.steps(), 0u);
}

TEST_F(Clocks, TheLogHasASentenceForEachStepAndOneAMinute) {
  const auto count = [&](std::int64_t duration_us) {
    int sentences = 0;
    for (std::int64_t passed_us = 0; passed_us < duration_us; passed_us += second_us) {
      pass(second_us);
      if (clock.sentence()) ++sentences;
    }
    return sentences;
  };
  set_us = -hour_us;
  EXPECT_EQ(count(10 * second_us), 1);
  EXPECT_EQ(count(600 * second_us), 10);
  int sentences = 0;
  for (int step = 0; step < 100; ++step) {
    set_us = -hour_us * (step % 2 + 1);
    sentences += count(second_us);
  }
  EXPECT_LE(sentences, 10) << "a clock that jumps about must not fill the log";
  EXPECT_GE(clock.steps(), 100u);
}

TEST_F(Clocks, TimesStayInTheirRange) {
  DisciplinedClock at_the_end(0);
  EXPECT_EQ(at_the_end.read(0, std::numeric_limits<std::int64_t>::max()), time_us_limit);
  EXPECT_EQ(at_the_end.read(second_us, std::numeric_limits<std::int64_t>::max()), time_us_limit);
  EXPECT_EQ(at_the_end.read(2 * second_us, std::numeric_limits<std::int64_t>::min()),
            time_us_limit - second_us / 2);
  DisciplinedClock at_the_start(0);
  EXPECT_EQ(at_the_start.read(0, std::numeric_limits<std::int64_t>::min()), -time_us_limit);
  at_the_start.read(1, std::numeric_limits<std::int64_t>::max());
  at_the_start.read(2, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(at_the_start.adopt(), 2 * time_us_limit - 2);
}

// The wall clock drifts, jitters and is set at random; two of three times it is set right again
// before the wait is over.
TEST(DisciplinedClock, ARandomWallClockNeverTakesTimeBackNorFarFromItself) {
  for (const std::uint64_t seed : test::seeds(200)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    DisciplinedClock clock(wait_us);
    std::int64_t steady_us = 0;
    double wall_us = static_cast<double>(start_us);
    double right_us = wall_us;  // what the wall clock would be if it had never been set
    std::int64_t since_step_us = 0;
    std::int64_t last_us = clock.read(0, start_us);
    std::int64_t adopted_us = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::int64_t passed_us = random.between(1, 200'000);
      const double rate = 1 + (random.unit() - 0.5) / 10;  // up to a twentieth too fast or slow
      steady_us += passed_us;
      wall_us += static_cast<double>(passed_us) * rate;
      right_us += static_cast<double>(passed_us) * rate;
      since_step_us += passed_us;
      if (random.chance(0.002)) {
        wall_us = right_us + (random.unit() - 0.5) * 2 * static_cast<double>(hour_us);
        since_step_us = 0;
      } else if (since_step_us > wait_us / 2 && random.chance(0.02)) {
        wall_us = right_us;
      }
      const auto read_us = static_cast<std::int64_t>(wall_us);
      const std::int64_t now_us = clock.read(steady_us, read_us);
      ASSERT_GE(now_us, last_us);
      ASSERT_LE(now_us - last_us, passed_us + passed_us / 10 + 1);
      ASSERT_GE(now_us - last_us, passed_us / 2 - 1);
      ASSERT_EQ(clock.offset_us(), read_us - now_us);
      const std::int64_t moved_us = clock.adopt();
      ASSERT_GE(moved_us, 0);
      adopted_us += moved_us;
      last_us = now_us + moved_us;
      if (moved_us > 0) {
        ASSERT_EQ(clock.offset_us(), 0);
      }
    }
    EXPECT_LE(static_cast<double>(last_us), right_us + static_cast<double>(adopted_us) + 2e6)
        << "without a step that lasted, the time stays with the wall clock";
  }
}

}  // namespace
}  // namespace starling::stream
