// SPDX-License-Identifier: Apache-2.0
// Tests the states that PositionFeed reports for its mirror of positions, while ticks come faster
// than the feed walks through the table of objects.
#include "starling/stream/websocket/position_feed.hpp"

#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace starling::stream {
namespace {

class PositionFeeds : public testing::Test {
 protected:
  /// Begins a tick in which more objects move than are copied.
  void large_tick(std::uint64_t number) {
    Staging staging;
    staging.objects.resize(1);
    feed.take(staging, {Tick{number}, 0});
  }
  void walk_once() { loop.run_one(); }

  boost::asio::io_context loop;
  ObjectTable objects{{}};
  MirrorState last;
  PositionFeed feed{
      {.loop = loop,
       .copied_rows_max = 0,
       .is_free = [] { return true; },
       .objects = [this]() -> const ObjectTable& { return objects; },
       .send = [this](const auto&, const MirrorState& state, bool) { last = state; }}};
};

TEST_F(PositionFeeds, AMirrorStaysCompleteIfEachWalkTakesLongerThanATick) {
  feed.begin();
  EXPECT_FALSE(last.is_complete) << "there was no walk yet";
  for (std::uint64_t tick = 1; tick < 10; ++tick) {
    large_tick(tick);
    EXPECT_EQ(last.is_complete, tick > 1);
    walk_once();
    EXPECT_TRUE(last.is_complete);
    EXPECT_TRUE(last.is_behind) << "the walk began before the tick";
    EXPECT_EQ(last.time.tick, Tick{tick - 1}) << "the tick at which the walk began";
  }
  walk_once();
  EXPECT_FALSE(last.is_behind);
  EXPECT_EQ(last.time.tick, Tick{9});
}

TEST_F(PositionFeeds, ANewViewWaitsForItsOwnWalk) {
  feed.begin();
  walk_once();
  EXPECT_TRUE(last.is_complete);
  feed.end();
  large_tick(1);
  feed.begin();
  EXPECT_FALSE(last.is_complete);
  loop.restart();
  walk_once();
  EXPECT_TRUE(last.is_complete);
  EXPECT_EQ(last.time.tick, Tick{1});
}

TEST_F(PositionFeeds, RowsOfASmallTickBringTheMirrorToItsTime) {
  feed.begin();
  walk_once();
  feed.take(Staging(), {Tick{3}, 30});
  EXPECT_FALSE(last.is_behind);
  EXPECT_EQ(last.time.tick, Tick{3});
  large_tick(4);
  feed.take(Staging(), {Tick{5}, 50});
  EXPECT_EQ(last.time.tick, Tick{3}) << "rows of tick 4 are missing";
  loop.restart();
  walk_once();
  EXPECT_EQ(last.time.tick, Tick{5})
      << "the walk read the rows of tick 4, and those of tick 5 came";
  EXPECT_FALSE(last.is_behind);
}

}  // namespace
}  // namespace starling::stream
