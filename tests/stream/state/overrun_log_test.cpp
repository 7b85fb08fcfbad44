// SPDX-License-Identifier: Apache-2.0
// Tests what the log says about skipped ticks, and how often it says so.
#include "starling/stream/state/overrun_log.hpp"

#include <gmock/gmock.h>

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

constexpr std::int64_t second_us = 1'000'000;

StageTimes searching(double ms) {
  StageTimes times;
  times.build_ms = 2;
  times.search_ms = ms;
  return times;
}

TEST(OverrunLog, SaysNothingWhileNoTickIsSkipped) {
  OverrunLog log(100'000);
  log.due(true, 0);
  log.finished(searching(20), 25);
  EXPECT_EQ(log.sentence(0), std::nullopt);
}

TEST(OverrunLog, SaysHowManyTicksWereSkippedAndWhichStageTookTheTime) {
  OverrunLog log(100'000);
  log.due(true, 0);
  log.finished(searching(1701), 1710);
  log.due(true, 17);
  log.finished(searching(3), 8);
  EXPECT_EQ(log.sentence(0),
            "17 of 19 ticks were skipped, because the server was busy when they were due. A tick "
            "is due every 100 ms; the slowest one took 1710.0 ms, of which searching took 1701.0 "
            "ms. Use a longer --tick, or fewer objects, queries or neighbours");
}

TEST(OverrunLog, NamesEncodingAndTheLoopWhereTheyTakeTheTime) {
  OverrunLog encoding(10'000);
  encoding.due(false, 1);
  encoding.finished(searching(3), 6);
  encoding.encoded(40);
  EXPECT_THAT(encoding.sentence(0),
              Optional(HasSubstr("of which encoding the messages took 40.0 ms")));
  OverrunLog loop(10'000);
  loop.due(false, 1);
  loop.finished(searching(3), 90);
  const auto sentence = loop.sentence(0);
  EXPECT_THAT(sentence, Optional(HasSubstr("waiting for the server's loop took 85.0 ms")));
  EXPECT_THAT(sentence, Optional(Not(HasSubstr("fewer objects"))));
}

TEST(OverrunLog, BlamesNoObjectsWhereEveryTickWasQuick) {
  OverrunLog log(100'000);
  log.due(true, 5);
  log.finished(searching(3), 8);
  const auto sentence = log.sentence(0);
  EXPECT_THAT(sentence, Optional(HasSubstr("other programs the machine")));
  EXPECT_THAT(sentence, Optional(Not(HasSubstr("fewer objects"))));
}

TEST(OverrunLog, TellsAStalledHostFromALoad) {
  OverrunLog idle(100'000);
  idle.due(true, 17);
  idle.stalled(17, 1'733'000);
  idle.finished(searching(1701), 1710);  // a tick that was under way stalls, too
  idle.due(true, 3);
  EXPECT_EQ(idle.sentence(0),
            "20 of 22 ticks were skipped, because the system did not run the server when they were "
            "due, for up to 1733.0 ms. A tick is due every 100 ms. Look for what takes the "
            "processors away: other programs, a limit of the container, the host of the virtual "
            "machine (steal time), or a suspend");
  idle.due(true, 1);
  EXPECT_THAT(idle.sentence(20 * second_us), Optional(HasSubstr("the server was busy")));
  OverrunLog loaded(100'000);
  loaded.due(false, 17);
  loaded.due(true, 3);
  loaded.stalled(2, 250'000);
  loaded.finished(searching(1701), 1710);
  EXPECT_THAT(loaded.sentence(0), Optional(HasSubstr("fewer objects, queries or neighbours")));
}

TEST(OverrunLog, SaysItOnceInTenSecondsForAllThatWereSkippedSince) {
  OverrunLog log(100'000);
  log.due(false, 1);
  EXPECT_NE(log.sentence(0), std::nullopt);
  for (std::int64_t now_us = second_us; now_us < 10 * second_us; now_us += second_us) {
    log.due(true, 2);
    EXPECT_EQ(log.sentence(now_us), std::nullopt);
  }
  EXPECT_THAT(log.sentence(10 * second_us), Optional(HasSubstr("18 of 27 ticks")));
  EXPECT_EQ(log.sentence(30 * second_us), std::nullopt) << "nothing was skipped since";
}

TEST(OverrunLog, WithoutAFinishedTickNamesNoStage) {
  OverrunLog log(100'000);
  log.due(false, 1);
  EXPECT_THAT(log.sentence(0), Optional(Not(HasSubstr("slowest"))));
}

}  // namespace
}  // namespace starling::stream
