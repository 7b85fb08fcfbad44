// SPDX-License-Identifier: Apache-2.0
// Tests the algorithm of a subscription step by step: joining, gaps and restarts. Every tick is
// applied as a whole or not at all.
#include "starling/protocol/client/subscription.hpp"

#include <gtest/gtest.h>

#include "tests/protocol/client/fake_stream.hpp"

namespace starling::protocol {
namespace {

using test::FakeStream;
using test::PageReply;
using test::receive;

struct SubscriptionTest : ::testing::Test {
  void take_snapshot(const FakeStream& author) {
    for (const auto& page : author.snapshot(3)) {
      ASSERT_TRUE(state.wanted_page());
      state.on_page(PageReply(page).page());
    }
  }
  void expect_holds(const FakeStream& author, const HeldAt& at) {
    ASSERT_TRUE(state.held_at());
    EXPECT_EQ(*state.held_at(), at);
    EXPECT_EQ(state.lists(), author.truth(at.tick));
  }
  static void run(FakeStream& author, int ticks) {
    for (int tick = 0; tick < ticks; ++tick) author.tick();
  }

  FakeStream stream{1, 17};
  SubscriptionState state{{.stream = "riders"}};
};

TEST_F(SubscriptionTest, ItIsSilentIfNothingComesForTwoReportsAfterAMessageWasSent) {
  run(stream, 3);
  take_snapshot(stream);
  for (int report = 0; report < 5; ++report) state.on_reported(3);
  EXPECT_FALSE(state.is_silent()) << "nothing was sent";
  state.on_reported(4);
  state.on_reported(5);
  EXPECT_FALSE(state.is_silent()) << "the message may be on its way";
  EXPECT_TRUE(state.is_live());
  state.on_reported(5);
  EXPECT_TRUE(state.is_silent());
  EXPECT_TRUE(state.wanted_page());
  run(stream, 2);
  take_snapshot(stream);
  expect_holds(stream, stream.now());
  EXPECT_EQ(state.counters().ticks_lost, 2u);
  EXPECT_TRUE(state.is_silent()) << "a snapshot comes on another socket";
  state.on_tick(receive(stream.tick()));
  EXPECT_FALSE(state.is_silent());
  expect_holds(stream, stream.now());
}

TEST_F(SubscriptionTest, ItIsNotSilentWhileItLagsButHears) {
  run(stream, 3);
  take_snapshot(stream);
  for (std::uint64_t report = 1; report < 20; ++report) {
    state.on_tick(receive(stream.tick()));
    state.on_reported(100 * report);
    EXPECT_FALSE(state.is_silent());
  }
  EXPECT_TRUE(state.is_live());
}

TEST_F(SubscriptionTest, ItFirstWantsASnapshot) {
  const auto page = state.wanted_page();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->stream, "riders");
  EXPECT_EQ(page->page, 0u);
  EXPECT_FALSE(state.is_live());
  EXPECT_FALSE(state.held_at());
}

TEST_F(SubscriptionTest, ItKnowsWhetherTheStreamHasVotesAndMeans) {
  EXPECT_FALSE(state.has_votes());
  EXPECT_FALSE(state.has_means());
  run(stream, 20);
  take_snapshot(stream);
  EXPECT_TRUE(state.has_votes());
  EXPECT_TRUE(state.has_means());
}

TEST_F(SubscriptionTest, AQueryThatIsRemovedTakesAllItsListsAndOnlyThose) {
  ListStore lists;
  for (const std::uint64_t query : {1u, 2u})
    for (const std::uint64_t subject : {5u, 6u})
      lists[{QueryId{query}, true, ObjectId{subject}}] = {};
  lists[{.query = QueryId{3}}] = {};
  remove_lists(lists, std::vector<ListKey>{{.query = QueryId{1}}, {QueryId{2}, true, ObjectId{6}}});
  EXPECT_EQ(lists.size(), 2u);
  EXPECT_TRUE(lists.contains({QueryId{2}, true, ObjectId{5}}));
  EXPECT_TRUE(lists.contains({.query = QueryId{3}}));
  remove_lists(lists, std::vector<ListKey>{{.query = QueryId{3}}});
  EXPECT_EQ(lists.size(), 1u);
}

TEST_F(SubscriptionTest, TicksAfterTheSnapshotAreApplied) {
  run(stream, 20);
  take_snapshot(stream);
  expect_holds(stream, stream.now());
  for (int tick = 0; tick < 50; ++tick) {
    state.on_tick(receive(stream.tick()));
    expect_holds(stream, stream.now());
  }
  EXPECT_TRUE(state.is_live());
  EXPECT_EQ(state.counters().ticks_applied, 50u);
}

TEST_F(SubscriptionTest, TicksBufferedWhileTheSnapshotComesAreAppliedIfNewer) {
  run(stream, 20);
  state.on_tick(receive(stream.tick()));
  const auto pages = stream.snapshot(2);
  ASSERT_GT(pages.size(), 1u);
  for (const auto& page : pages) {
    state.on_tick(receive(stream.tick()));
    EXPECT_FALSE(state.held_at());
    state.on_page(PageReply(page).page());
  }
  EXPECT_TRUE(state.is_live());
  expect_holds(stream, stream.now());
  EXPECT_EQ(state.buffered_bytes(), 0u);
}

TEST_F(SubscriptionTest, AGapIsCountedAndAsksForASnapshotWhileTheOldListsStand) {
  run(stream, 20);
  take_snapshot(stream);
  const HeldAt before = stream.now();
  stream.tick();
  stream.tick();
  state.on_tick(receive(stream.tick()));
  EXPECT_EQ(state.counters().ticks_lost, 2u);
  EXPECT_FALSE(state.is_live());
  expect_holds(stream, before);
  take_snapshot(stream);
  EXPECT_TRUE(state.is_live());
  expect_holds(stream, stream.now());
}

TEST_F(SubscriptionTest, AGapBehindTheSnapshotAsksForAnother) {
  run(stream, 20);
  const auto pages = stream.snapshot(100);
  stream.tick();
  state.on_tick(receive(stream.tick()));
  state.on_page(PageReply(pages.front()).page());
  EXPECT_TRUE(state.held_at());
  EXPECT_FALSE(state.is_live());
  take_snapshot(stream);
  EXPECT_TRUE(state.is_live());
  expect_holds(stream, stream.now());
}

TEST_F(SubscriptionTest, ARestartIsNoticedByItsEpoch) {
  run(stream, 20);
  take_snapshot(stream);
  const HeldAt before = stream.now();
  FakeStream next(2, 18);
  run(next, 20);
  state.on_tick(receive(next.tick()));
  EXPECT_EQ(state.counters().restarts, 1u);
  EXPECT_EQ(state.counters().ticks_lost, 0u);
  expect_holds(stream, before);
  take_snapshot(next);
  expect_holds(next, next.now());
}

TEST_F(SubscriptionTest, ARestartIsNoticedByTheSnapshotTooAndALateOldTickDoesNoHarm) {
  run(stream, 20);
  take_snapshot(stream);
  stream.tick();
  state.on_tick(receive(stream.tick()));  // A gap: a snapshot is wanted.
  const auto late = stream.tick();
  FakeStream next(2, 18);
  run(next, 20);
  take_snapshot(next);
  state.on_tick(receive(late));
  expect_holds(next, next.now());
  take_snapshot(next);
  EXPECT_TRUE(state.is_live());
  EXPECT_EQ(state.counters().restarts, 1u);
  expect_holds(next, next.now());
}

TEST_F(SubscriptionTest, PagesOfTwoTicksAreNotMixed) {
  run(stream, 30);
  const auto first = stream.snapshot(2);
  ASSERT_GT(first.size(), 1u);
  state.on_page(PageReply(first[0]).page());
  run(stream, 5);
  const auto second = stream.snapshot(2);
  state.on_page(PageReply(second[1]).page());
  EXPECT_FALSE(state.held_at());
  EXPECT_EQ(state.wanted_page()->page, 0u);
  take_snapshot(stream);
  expect_holds(stream, stream.now());
}

TEST_F(SubscriptionTest, ARefusedPageStartsTheSnapshotOver) {
  run(stream, 30);
  const auto pages = stream.snapshot(2);
  state.on_page(PageReply(pages[0]).page());
  EXPECT_EQ(state.wanted_page()->page, 1u);
  state.on_page_refused();
  EXPECT_EQ(state.wanted_page()->page, 0u);
}

TEST_F(SubscriptionTest, AMalformedTickIsALostOne) {
  run(stream, 20);
  take_snapshot(stream);
  const HeldAt before = stream.now();
  auto damaged = stream.tick();
  damaged.emplace_back(8);
  state.on_tick(receive(damaged));
  expect_holds(stream, before);
  state.on_tick(receive(stream.tick()));
  EXPECT_EQ(state.counters().ticks_malformed, 1u);
  EXPECT_EQ(state.counters().ticks_lost, 1u);
  EXPECT_FALSE(state.is_live());
}

TEST_F(SubscriptionTest, ARepeatedTickIsIgnored) {
  run(stream, 20);
  take_snapshot(stream);
  const auto tick = stream.tick();
  state.on_tick(receive(tick));
  state.on_tick(receive(tick));
  EXPECT_TRUE(state.is_live());
  EXPECT_EQ(state.counters().ticks_applied, 1u);
}

TEST_F(SubscriptionTest, AFailedTickLeavesTheListsAndTheirTick) {
  run(stream, 20);
  take_snapshot(stream);
  const Tick before = state.held_at()->tick;
  state.on_tick(receive(stream.tick(true)));
  EXPECT_TRUE(state.is_live());
  EXPECT_EQ(state.held_at()->tick, before);
  expect_holds(stream, stream.now());
}

TEST_F(SubscriptionTest, TheBufferStaysWithinItsBytes) {
  SubscriptionState small({.stream = "riders", .buffer_bytes_max = 2000});
  run(stream, 20);
  for (int tick = 0; tick < 100; ++tick) {
    small.on_tick(receive(stream.tick()));
    EXPECT_LE(small.buffered_bytes(), 2000u);
  }
  for (const auto& page : stream.snapshot(100)) small.on_page(PageReply(page).page());
  EXPECT_TRUE(small.is_live());
  EXPECT_EQ(small.lists(), stream.truth(stream.now().tick));
}

TEST_F(SubscriptionTest, ChosenQueriesAloneAreHeld) {
  const std::vector<std::uint64_t> chosen{5, 2};
  SubscriptionState some({.stream = "riders", .query_ids = chosen});
  run(stream, 20);
  for (const auto& page : stream.snapshot(2, chosen)) some.on_page(PageReply(page).page());
  for (int tick = 0; tick < 50; ++tick) some.on_tick(receive(stream.tick()));
  ListStore expected = stream.truth(stream.now().tick);
  std::erase_if(expected, [](const auto& each) {
    return each.first.query != QueryId{2} && each.first.query != QueryId{5};
  });
  EXPECT_TRUE(some.is_live());
  EXPECT_EQ(some.lists(), expected);
}

TEST_F(SubscriptionTest, OfQueriesForEveryObjectTheListsOfChosenObjectsAloneAreHeld) {
  SubscriptionState some({.stream = "riders", .subject_ids = {2, 0}});
  std::size_t dropped = 0;
  run(stream, 20);
  for (const auto& page : stream.snapshot(2)) some.on_page(PageReply(page).page());
  for (int tick = 0; tick < 50; ++tick) {
    some.on_tick(receive(stream.tick()));
    ListStore expected = stream.truth(stream.now().tick);
    dropped += std::erase_if(expected, [](const auto& each) {
      return each.first.has_subject && each.first.subject == ObjectId{1};
    });
    EXPECT_TRUE(some.is_live());
    EXPECT_EQ(some.lists(), expected);
  }
  EXPECT_GT(dropped, 0u) << "the stream has no list that is not wanted";
}

TEST_F(SubscriptionTest, ItsReportTellsTheNewestTickAndTheLosses) {
  EXPECT_FALSE(state.report());
  run(stream, 20);
  take_snapshot(stream);
  stream.tick();
  state.on_tick(receive(stream.tick()));
  const auto report = state.report();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->epoch, 1u);
  EXPECT_EQ(report->sequence, 22u);
  EXPECT_EQ(report->lost, 1u);
}

TEST_F(SubscriptionTest, HandlersHearOfEachAppliedTickInOrder) {
  std::vector<std::uint64_t> applied;
  int replaced = 0;
  SubscriptionState watched(
      {.stream = "riders"},
      {.replaced = [&](const HeldAt&) { ++replaced; },
       .applied = [&](const DecodedTick& tick) { applied.push_back(tick.header.sequence); }});
  watched.on_tick(receive(stream.tick()));
  for (const auto& page : stream.snapshot(100)) watched.on_page(PageReply(page).page());
  watched.on_tick(receive(stream.tick()));
  watched.on_tick(receive(stream.tick()));
  EXPECT_EQ(replaced, 1);
  EXPECT_EQ(applied, (std::vector<std::uint64_t>{2, 3}));
}

struct SubscriptionRuns : SubscriptionTest {
  SubscriptionRuns() {
    stream.set_runs({{.id = 1, .begun = 0}});
    run(stream, 4);
    take_snapshot(stream);
    state.on_tick(receive(stream.tick()));
  }
  std::uint64_t restarts() const { return state.counters().restarts; }
};

TEST_F(SubscriptionRuns, TheNextRunGoesOnIfItsLogHasWhatIsHeld) {
  stream.set_runs({{.id = 2, .begun = 5}, {.id = 1, .begun = 0}});
  state.on_tick(receive(stream.tick()));
  EXPECT_TRUE(state.is_live());
  expect_holds(stream, stream.now());
  EXPECT_EQ(restarts(), 0u);
}

TEST_F(SubscriptionRuns, ALogThatEndsBeforeWhatIsHeldIsAnotherHistory) {
  FakeStream put_back = stream;
  state.on_tick(receive(stream.tick()));
  put_back.set_runs({{.id = 2, .begun = 5}, {.id = 1, .begun = 0}});
  put_back.tick();
  state.on_tick(receive(put_back.tick()));  // the tick number that the subscriber expects next
  EXPECT_EQ(restarts(), 1u);
  EXPECT_FALSE(state.is_live());
  take_snapshot(put_back);
  expect_holds(put_back, put_back.now());
  EXPECT_EQ(restarts(), 1u);
}

TEST_F(SubscriptionRuns, ASnapshotTellsOfAnotherHistoryToo) {
  FakeStream put_back = stream;
  state.on_tick(receive(stream.tick()));
  put_back.set_runs({{.id = 2, .begun = 5}, {.id = 1, .begun = 0}});
  state.on_tick_missed();
  take_snapshot(put_back);
  EXPECT_EQ(restarts(), 1u);
  expect_holds(put_back, put_back.now());
}

TEST_F(SubscriptionRuns, AfterAMissedRunASnapshotDecides) {
  FakeStream put_back = stream;
  stream.set_runs({{.id = 3, .begun = 6}, {.id = 2, .begun = 5}, {.id = 1, .begun = 0}});
  state.on_tick(receive(stream.tick()));
  EXPECT_FALSE(state.is_live());
  take_snapshot(stream);
  EXPECT_EQ(restarts(), 0u);
  expect_holds(stream, stream.now());
  put_back.set_runs({{.id = 5, .begun = 6}, {.id = 4, .begun = 5}, {.id = 1, .begun = 0}});
  put_back.tick();
  state.on_tick(receive(put_back.tick()));
  take_snapshot(put_back);
  EXPECT_EQ(restarts(), 1u);
  expect_holds(put_back, put_back.now());
}

TEST_F(SubscriptionRuns, ALateTickOfTheRunBeforeIsIgnored) {
  FakeStream old = stream;
  stream.set_runs({{.id = 2, .begun = 5}, {.id = 1, .begun = 0}});
  state.on_tick(receive(stream.tick()));
  state.on_tick(receive(old.tick()));
  EXPECT_TRUE(state.is_live());
  EXPECT_EQ(restarts(), 0u);
  expect_holds(stream, stream.now());
}

}  // namespace
}  // namespace starling::protocol
