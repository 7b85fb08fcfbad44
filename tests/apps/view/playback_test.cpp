// SPDX-License-Identifier: Apache-2.0
// Tests the clock of `starling view`: which moment is due, and which calls move the clock.
#include "starling/apps/view/playback.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

using namespace std::chrono_literals;
using Wake = Playback::Wake;

std::chrono::duration<double> time_of(const auto& act) {
  const auto start = Playback::Clock::now();
  act();
  return Playback::Clock::now() - start;
}

TEST(Playback, RunsAtItsSpeed) {
  Playback playback(100);
  const auto took = time_of([&] { EXPECT_EQ(playback.wait_for(20'000'000), Wake::due); });
  EXPECT_GE(took, 190ms);
  EXPECT_GE(playback.position_us(), 20'000'000);
}

TEST(Playback, StandsStillWhileItIsPaused) {
  Playback playback(4096);
  EXPECT_EQ(playback.wait_for(1'000), Wake::due);
  playback.toggle_pause();
  EXPECT_TRUE(playback.is_paused());
  const std::int64_t held_us = playback.position_us();
  std::jthread later([&] {
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(playback.position_us(), held_us);
    playback.toggle_pause();
  });
  const auto took = time_of([&] { EXPECT_EQ(playback.wait_for(held_us + 1'000'000), Wake::due); });
  EXPECT_GE(took, 100ms);
}

TEST(Playback, AJumpAheadMakesAllBetweenDueAtOnce) {
  Playback playback(Playback::speed_min);
  playback.skip(3'600'000'000);
  const auto took = time_of([&] {
    for (std::int64_t at_us = 0; at_us <= 3'600'000'000; at_us += 60'000'000)
      EXPECT_EQ(playback.wait_for(at_us), Wake::due);
  });
  EXPECT_LT(took, 5s);
}

TEST(Playback, StandsUntilThePassHasReachedIt) {
  Playback playback(4096);
  playback.begin_pass();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(playback.position_us(), 0);
  EXPECT_EQ(playback.wait_for(0), Wake::due);
  std::this_thread::sleep_for(20ms);  // time for which the first moment is shown
  EXPECT_EQ(playback.position_us(), 0);
  EXPECT_EQ(playback.wait_for(1), Wake::due);
  std::this_thread::sleep_for(20ms);
  EXPECT_GE(playback.position_us(), 4096 * 20'000);
  playback.seek(3'600'000'000);
  for (const std::int64_t at_us : {std::int64_t{100'000'000}, std::int64_t{3'600'000'000}}) {
    EXPECT_EQ(playback.wait_for(at_us), Wake::due);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(playback.position_us(), 3'600'000'000);
  }
  EXPECT_EQ(playback.wait_for(3'600'000'001), Wake::due);
  EXPECT_GT(playback.position_us(), 3'600'000'000);
}

TEST(Playback, DoesNotRunAwayFromALatePass) {
  Playback playback(4096);
  EXPECT_EQ(playback.wait_for(1), Wake::due);
  std::this_thread::sleep_for(600ms);
  playback.set_speed(Playback::speed_min);
  EXPECT_EQ(playback.wait_for(1'000'000), Wake::due);
  EXPECT_LT(playback.position_us(), 4096 * 500'000);
  EXPECT_TRUE(playback.is_over(1'000'000));
  EXPECT_FALSE(playback.is_over(3'600'000'000'000));
}

TEST(Playback, GoesBackToAMomentThatWasLeftOut) {
  Playback playback(1);
  playback.seek(10'000'000);
  EXPECT_EQ(playback.wait_for(1'000'000), Wake::due);
  EXPECT_TRUE(playback.is_over(2'000'000));
  playback.seek(1'500'000);
  EXPECT_EQ(playback.wait_for(2'000'000), Wake::back);
}

TEST(Playback, AMoveBackBeforeTheWaitAtTheEndIsNotLostNorIsItsPause) {
  Playback playback(4096);
  EXPECT_EQ(playback.wait_for(5'000'000), Wake::due);
  playback.pause(true);
  playback.seek(0);
  EXPECT_EQ(playback.wait_at_end(), Wake::back);
  EXPECT_TRUE(playback.is_paused());
}

TEST(Playback, MovedBackItAsksForANewPass) {
  Playback playback(1);
  playback.skip(600'000'000);
  EXPECT_EQ(playback.wait_for(600'000'000), Wake::due);
  playback.skip(-60'000'000);
  EXPECT_EQ(playback.wait_for(601'000'000), Wake::back);
  playback.begin_pass();
  EXPECT_EQ(playback.wait_for(539'000'000), Wake::due);
  playback.skip(-3'600'000'000);
  EXPECT_LT(playback.position_us(), 60'000'000) << "there is nothing before the beginning";
}

TEST(Playback, AnotherSpeedCountsFromNowOn) {
  Playback playback(1);
  playback.skip(100'000'000);
  EXPECT_EQ(playback.scale_speed(2), 2);
  EXPECT_LT(playback.position_us(), 110'000'000);
  EXPECT_EQ(playback.scale_speed(1e9), Playback::speed_max);
  EXPECT_EQ(playback.scale_speed(1e-9), Playback::speed_min);
  EXPECT_EQ(Playback(0).scale_speed(1), Playback::speed_min);
}

TEST(Playback, AtTheEndOnlyAMoveBackPlaysAgain) {
  Playback playback(4096);
  EXPECT_EQ(playback.wait_for(5'000'000), Wake::due);
  const auto took = time_of([&] {
    std::jthread later([&] {
      std::this_thread::sleep_for(50ms);
      playback.skip(60'000'000);
      playback.pause(false);
      std::this_thread::sleep_for(50ms);
      playback.skip(-1'000'000'000'000);  // much further than the clock has run at 4096 times real
                                          // time
    });
    EXPECT_EQ(playback.wait_at_end(), Wake::back);
  });
  EXPECT_GE(took, 100ms);
  EXPECT_FALSE(playback.is_paused());
}

TEST(Playback, StopsWhereverItWaits) {
  for (const bool is_paused : {false, true}) {
    Playback playback(Playback::speed_min);
    if (is_paused) playback.toggle_pause();
    std::jthread later([&] {
      std::this_thread::sleep_for(20ms);
      playback.stop();
    });
    EXPECT_EQ(playback.wait_for(3'600'000'000), Wake::stop);
    EXPECT_EQ(playback.wait_at_end(), Wake::stop);
  }
}

}  // namespace
}  // namespace starling::apps
