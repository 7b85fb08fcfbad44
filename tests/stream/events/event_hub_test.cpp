// SPDX-License-Identifier: Apache-2.0
// Tests the event hub without sockets and threads: what readers get and when, limits and ends.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/events/event_hub_world.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using zmtp::PrincipalId;

TEST(EventHub, AReaderThatJoinsLateGetsASnapshotAndThenEachTickOnceInOrder) {
  EventHubWorld world;
  FakeReader& first = world.join();
  EXPECT_TRUE(first.is_started);
  ASSERT_EQ(world.asked.size(), 1u);
  EXPECT_EQ(world.asked[0].snapshot().stream, "cars");
  world.ticks(4, 5);
  EXPECT_THAT(first.events, IsEmpty()) << "it waits for the snapshot";
  world.reply({.sequence = 4});
  EXPECT_THAT(first.events, ElementsAre("snapshot 4", "tick 5"));
  EXPECT_THAT(first.last_text, HasSubstr("id: 7-5\n"));
  world.tick(6);
  FakeReader& late = world.join();
  world.tick(7);
  EXPECT_THAT(first.events, ElementsAre("snapshot 4", "tick 5", "tick 6", "tick 7"));
  EXPECT_EQ(late.events, first.events);
  EXPECT_TRUE(world.asked.empty()) << "both readers have one snapshot";
}

TEST(EventHub, TicksThatTheSnapshotHasAreNotSentAgain) {
  EventHubWorld world;
  FakeReader& reader = world.join();
  world.tick(4);
  world.reply({.sequence = 6});
  world.ticks(5, 7);
  EXPECT_THAT(reader.events, ElementsAre("snapshot 6", "tick 7"));
}

TEST(EventHub, ASnapshotThatIsOlderThanTheTicksHeldIsFetchedAgain) {
  EventHubWorld world;
  FakeReader& reader = world.join();
  world.tick(5);
  world.reply({.sequence = 3});
  EXPECT_THAT(reader.events, IsEmpty()) << "tick 4 would be missing";
  world.reply({.sequence = 5});
  EXPECT_THAT(reader.events, ElementsAre("snapshot 5"));
}

TEST(EventHub, AReaderThatComesBackGoesOnAfterItsLastEvent) {
  EventHubWorld world;
  world.join_with_snapshot();
  world.ticks(1, 4);
  FakeReader& back = world.join("cars", {}, "7-2");
  EXPECT_THAT(back.events, ElementsAre("tick 3", "tick 4"));
  EXPECT_TRUE(world.asked.empty());
  FakeReader& restarted = world.join("cars", {}, "8-2");
  EXPECT_THAT(restarted.events,
              ElementsAre("gap restarted", "snapshot 0", "tick 1", "tick 2", "tick 3", "tick 4"))
      << "its events were another server's";
}

TEST(EventHub, AReaderThatComesBackAndHasMissedNothingGetsNoSnapshot) {
  EventHubWorld world;
  FakeReader& back = world.join("cars", {}, "7-5");
  ASSERT_EQ(world.asked.size(), 1u) << "the hub holds no tick";
  world.reply({.sequence = 5});
  EXPECT_THAT(back.events, IsEmpty());
  world.tick(6);
  EXPECT_THAT(back.events, ElementsAre("tick 6"));
}

TEST(EventHub, ASlowReaderIsToldHowManyTicksItMissedAndNoOtherReaderMissesOne) {
  EventLimits limits = EventHubWorld::prompt();
  limits.ticks_max = 4;
  EventHubWorld world(limits);
  FakeReader& quick = world.join_with_snapshot();
  FakeReader& slow = world.join_with_snapshot();
  slow.is_slow = true;
  world.ticks(1, 10);
  EXPECT_THAT(slow.events, ElementsAre("snapshot 0"));
  slow.is_slow = false;
  world.run();
  world.reply({.sequence = 10});
  world.tick(11);
  EXPECT_THAT(slow.events, ElementsAre("snapshot 0", "tick 1", "gap 9", "snapshot 10", "tick 11"));
  EXPECT_EQ(world.hub.counts().dropped, 9u);
  EXPECT_EQ(world.hub.counts().gaps, 1u);
  EXPECT_EQ(quick.events.size(), 12u);
  EXPECT_EQ(quick.events.back(), "tick 11");
}

TEST(EventHub, ReadersOfAThreadThatFallsBehindAreToldOfTheLoss) {
  EventLimits limits = EventHubWorld::prompt();
  limits.bytes_max = 7 * EventHubWorld::message_of(1).bytes() / 2;
  EventHubWorld world(limits);
  FakeReader& reader = world.join_with_snapshot();
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) world.publish(sequence);
  world.run();
  ASSERT_EQ(world.asked.size(), 1u);
  world.reply({.sequence = 5});
  world.tick(6);
  EXPECT_THAT(reader.events, ElementsAre("snapshot 0", "tick 1", "tick 2", "tick 3", "gap 2",
                                         "snapshot 5", "tick 6"));
}

TEST(EventHub, AReaderThatReadsNothingIsCutAfterItsTime) {
  EventLimits limits = EventHubWorld::prompt();
  limits.stall_us = 2 * second_us;
  EventHubWorld world(limits);
  FakeReader& quick = world.join_with_snapshot();
  FakeReader& slow = world.join_with_snapshot();
  slow.is_slow = true;
  world.tick(1);
  world.pass(second_us);
  EXPECT_FALSE(slow.is_closed);
  world.pass(2 * second_us);
  EXPECT_TRUE(slow.is_closed);
  EXPECT_FALSE(quick.is_closed);
  EXPECT_EQ(world.hub.counts().stalled, 1u);
  EXPECT_EQ(world.hub.places().count(), 1u);
}

TEST(EventHub, AnIdleReaderGetsHeartbeats) {
  EventLimits limits = EventHubWorld::prompt();
  limits.heartbeat_us = second_us;
  EventHubWorld world(limits);
  FakeReader& reader = world.join_with_snapshot();
  world.pass(5 * second_us / 2);
  EXPECT_THAT(reader.events, ElementsAre("snapshot 0", "heartbeat", "heartbeat"));
}

TEST(EventHub, FrequentTicksAreFlushedTogether) {
  EventLimits limits;
  limits.flush_us = 20'000;
  EventHubWorld world(limits);
  FakeReader& reader = world.join_with_snapshot();
  world.ticks(1, 3);
  EXPECT_THAT(reader.events, ElementsAre("snapshot 0"));
  world.thread.advance(limits.flush_us);
  world.run();
  EXPECT_THAT(reader.events, ElementsAre("snapshot 0", "tick 1", "tick 2", "tick 3"));
}

TEST(EventHub, ReadersBeyondTheLimitAreRefusedUntilAPlaceIsFree) {
  EventLimits limits = EventHubWorld::prompt();
  limits.readers_max = 2;
  EventHubWorld world(limits);
  FakeReader& first = world.join();
  world.join("bikes");
  const HttpAnswer refusal = world.get_events();
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.body,
              HasSubstr("There are as many readers of events as http-events-max (2) allows"));
  EXPECT_FALSE(refusal.hand_over);
  first.close();
  EXPECT_EQ(world.get_events().status, 200u) << "its connection ends before it is handed over";
  EXPECT_EQ(world.hub.places().count(), 1u);
  world.join();
  EXPECT_EQ(world.get_events().status, 503u);
}

TEST(EventHub, AClientWithFewerTakesTheNewestPlaceOfTheOneThatHasTheMost) {
  EventLimits limits = EventHubWorld::prompt();
  limits.readers_max = 4;
  EventHubWorld world(limits);
  constexpr zmtp::PrincipalId ann{1};
  constexpr zmtp::PrincipalId bob{2};
  const FakeReader& oldest = world.join("cars", ann);
  world.join("bikes", ann);
  const FakeReader& third = world.join("bikes", ann);
  const HttpAnswer on_its_way = world.get_events("cars", ann);
  world.join("cars", bob);
  world.hand_over(on_its_way);
  world.run();
  EXPECT_EQ(world.readers.size(), 4u) << "it gave way before it was handed over";
  world.join("cars", bob);
  EXPECT_TRUE(third.is_closed);
  EXPECT_FALSE(oldest.is_closed);
  EXPECT_EQ(world.get_events("cars", ann).status, 503u) << "each has two";
  EXPECT_EQ(world.hub.places().gave_way().count, 2u);
}

TEST(EventHub, APrincipalHasAsManyReadersAsItsQuotaAllows) {
  EventHubWorld world;
  constexpr zmtp::PrincipalId ann{1};
  world.quotas[ann] = 1;
  world.join("cars", ann);
  const HttpAnswer refusal = world.get_events("bikes", ann);
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.body,
              HasSubstr("You have as many readers of events as quota.event_readers (1) allows"));
  EXPECT_EQ(world.get_events("bikes").status, 200u) << "another principal";
}

TEST(EventHub, EventsOfAnUnknownStreamAreRefusedAndNothingIsFollowed) {
  EventHubWorld world;
  const HttpAnswer refusal = world.get_events("none");
  EXPECT_EQ(refusal.status, 404u);
  EXPECT_THAT(refusal.body, HasSubstr("There is no such stream."));
  EXPECT_FALSE(world.hub.is_following());
  EXPECT_EQ(world.hub.places().count(), 0u);
}

TEST(EventHub, ACutEndsThePrincipalsReadersAlsoThoseOnTheirWay) {
  EventHubWorld world;
  constexpr PrincipalId ann{1};
  constexpr PrincipalId bob{2};
  FakeReader& anns = world.join_with_snapshot("cars", ann);
  FakeReader& bobs = world.join_with_snapshot("cars", bob);
  const HttpAnswer answered = world.get_events("cars", ann);
  world.hand_over(world.get_events("cars", ann));
  world.hub.cut([&](PrincipalId id) { return id == ann; });
  world.run();
  world.hand_over(answered);
  world.run();
  EXPECT_TRUE(anns.is_closed);
  EXPECT_FALSE(bobs.is_closed);
  ASSERT_EQ(world.readers.size(), 3u) << "one was answered before the cut and handed over after it";
  EXPECT_TRUE(world.readers[2]->is_closed) << "it was handed over, but not yet served";
  EXPECT_FALSE(world.join_with_snapshot("cars", ann).is_closed) << "a new reader";
}

TEST(EventHub, ReadersOfARemovedStreamGetItsLastTickAndThenTheEndAtOnce) {
  EventHubWorld world{EventLimits()};
  FakeReader& reader = world.join_with_snapshot();
  world.tick(1);
  world.publish(2, "cars", true);
  world.run();
  EXPECT_THAT(reader.events, ElementsAre("snapshot 0", "tick 1", "tick 2", "removed"));
  EXPECT_TRUE(reader.is_closed);
  EXPECT_FALSE(world.hub.is_following());
  EXPECT_EQ(world.hub.places().count(), 0u);
  FakeReader& next = world.join();
  world.reply({.sequence = 1});
  EXPECT_THAT(next.events, ElementsAre("snapshot 1")) << "a new stream has the name";
}

TEST(EventHub, AReaderThatWaitsForItsSnapshotLearnsThatTheStreamIsRemoved) {
  EventHubWorld world;
  FakeReader& reader = world.join();
  world.publish(1, "cars", true);
  world.run();
  EXPECT_THAT(reader.events, ElementsAre("removed"));
  world.reply({.sequence = 1});
  EXPECT_THAT(reader.events, ElementsAre("removed")) << "the reply came after its reader had gone";
}

TEST(EventHub, TicksAreHeldForReadersThatComeBackAndForgottenAfterTheirTime) {
  EventLimits limits = EventHubWorld::prompt();
  limits.linger_us = 10 * second_us;
  EventHubWorld world(limits);
  world.join_with_snapshot().close();
  world.ticks(1, 2);
  world.expire(0);
  world.expire(9 * second_us);
  FakeReader& back = world.join("cars", {}, "7-0");
  EXPECT_THAT(back.events, ElementsAre("tick 1", "tick 2"));
  world.expire(2 * second_us);
  EXPECT_TRUE(world.hub.is_following()) << "it has a reader";
  back.close();
  world.expire(0);
  world.expire(9 * second_us);
  EXPECT_TRUE(world.hub.is_following());
  world.expire(second_us);
  EXPECT_FALSE(world.hub.is_following());
  world.join("cars", {}, "7-2");
  EXPECT_EQ(world.asked.size(), 1u) << "no tick is held, so it needs a snapshot";
}

TEST(EventHub, AReaderThatComesAndLeavesBetweenTwoCallsOfExpireRestartsTheTimeToForget) {
  EventLimits limits = EventHubWorld::prompt();
  limits.linger_us = 10 * second_us;
  EventHubWorld world(limits);
  world.join_with_snapshot().close();
  world.tick(1);
  world.expire(0);
  world.pass(19 * second_us / 2);
  world.join("cars", {}, "7-1").close();
  world.expire(second_us / 2);
  ASSERT_TRUE(world.hub.is_following()) << "its last reader left 0.5 s ago";
  world.expire(19 * second_us / 2);
  FakeReader& back = world.join("cars", {}, "7-0");
  EXPECT_THAT(back.events, ElementsAre("tick 1"));
  back.close();
  world.expire(0);
  world.expire(10 * second_us);
  EXPECT_FALSE(world.hub.is_following());
}

TEST(EventHub, ANewStreamTakesThePlaceOfTheOneThatIsIdleLongest) {
  EventLimits limits = EventHubWorld::prompt();
  limits.readers_max = 2;
  EventHubWorld world(limits);
  world.join_with_snapshot("cars").close();
  world.hub.expire(world.thread.now_us());
  world.pass(second_us);
  world.join_with_snapshot("bikes").close();
  world.tick(1, "cars");
  world.tick(1, "bikes");
  world.join_with_snapshot("boats");
  FakeReader& back = world.join("bikes", {}, "7-0");
  EXPECT_THAT(back.events, ElementsAre("tick 1")) << "it is still held";
  back.close();
  world.join("cars", {}, "7-0");
  EXPECT_EQ(world.asked.size(), 1u) << "its ticks were forgotten";
}

TEST(EventHub, ASnapshotThatIsRefusedIsFetchedAgainLater) {
  EventHubWorld world;
  FakeReader& reader = world.join();
  world.refuse({ErrorCode::busy, "Wait.", {}});
  world.tick(1);
  EXPECT_TRUE(world.asked.empty()) << "too early";
  world.pass(second_us / 2);
  ASSERT_EQ(world.asked.size(), 1u);
  EXPECT_THAT(reader.events, IsEmpty());
  world.reply({.sequence = 1});
  EXPECT_THAT(reader.events, ElementsAre("snapshot 1"));
}

TEST(EventHub, ASnapshotThatIsTooLongRefusesItsReadersWithTheLimit) {
  EventLimits limits = EventHubWorld::prompt();
  limits.bytes_max = 1000;
  EventHubWorld world(limits);
  FakeReader& reader = world.join();
  world.reply({.sequence = 1, .list_count = 100});
  EXPECT_THAT(reader.events, ElementsAre("refused"));
  EXPECT_THAT(reader.last_text, HasSubstr("http-stream-bytes-max (1000)"));
  EXPECT_THAT(reader.last_text, HasSubstr("retry: 60000\n")) << "it must not ask again at once";
  EXPECT_TRUE(reader.is_closed);
  EXPECT_EQ(world.hub.places().count(), 0u);
}

TEST(EventHub, AReplyAfterItsReaderHasLeftIsNotKeptForOthers) {
  EventHubWorld world;
  world.join().close();
  world.reply({.sequence = 0});
  world.tick(1);
  FakeReader& next = world.join();
  EXPECT_THAT(next.events, IsEmpty());
  world.reply({.sequence = 1});
  EXPECT_THAT(next.events, ElementsAre("snapshot 1"));
}

TEST(EventHub, CloseEndsAllReadersAndAdmitsNoOther) {
  EventHubWorld world;
  FakeReader& reader = world.join();
  const HttpAnswer answered = world.get_events();
  world.hub.close();
  world.run();
  EXPECT_TRUE(reader.is_closed);
  world.hand_over(answered);
  world.run();
  EXPECT_EQ(world.readers.size(), 1u);
  world.reply({.sequence = 1});
  EXPECT_THAT(reader.events, IsEmpty());
}

TEST(EventHub, AfterCloseAReaderIsToldThatTheServerStops) {
  EventHubWorld world;
  world.hub.close();
  const HttpAnswer refusal = world.get_events();
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.fields, ElementsAre(std::pair("Retry-After", "1")));
  EXPECT_THAT(refusal.body, HasSubstr("\"code\":\"shutting_down\""));
  EXPECT_THAT(refusal.body, HasSubstr("The server is stopping"));
  EXPECT_THAT(refusal.body, Not(HasSubstr("http-events-max")));
  EXPECT_FALSE(refusal.hand_over);
}

/// What get_lists() answers, if it has answered.
struct ListsAnswer {
  explicit ListsAnswer(EventHubWorld& world, PrincipalId principal = {},
                       std::vector<std::uint64_t> query_ids = {}) {
    world.hub.get_lists({{principal}, "cars", std::move(query_ids)},
                        [this](HttpAnswer given) { answers.push_back(std::move(given)); });
  }
  std::vector<HttpAnswer> answers;
};

TEST(EventHub, ListsOfAllPagesAreOneAnswerInTheirOrder) {
  EventHubWorld world;
  const ListsAnswer lists(world, PrincipalId{3}, {1, 2, 5});
  ASSERT_EQ(world.asked.size(), 1u);
  EXPECT_EQ(world.asked[0].principal, PrincipalId{3});
  EXPECT_THAT(world.asked[0].snapshot().query_ids, ElementsAre(1, 2, 5));
  EXPECT_EQ(world.asked[0].snapshot().page, 0u);
  world.reply({.sequence = 4, .queries = {1, 2}, .next_page = 9, .list_count = 3});
  ASSERT_EQ(world.asked.size(), 1u);
  EXPECT_EQ(world.asked[0].snapshot().page, 9u);
  EXPECT_TRUE(world.is_reply_kept) << "the thread reads its lists";
  EXPECT_TRUE(lists.answers.empty());
  world.reply({.sequence = 4, .queries = {5}, .list_count = 3});
  ASSERT_EQ(lists.answers.size(), 1u);
  EXPECT_EQ(lists.answers[0].status, 200u);
  EXPECT_EQ(lists.answers[0].content_type, "application/json");
  EXPECT_EQ(lists.answers[0].body,
            "{\"stream\":\"cars\",\"epoch\":\"7\",\"sequence\":4,\"tick\":4,\"time_us\":0,"
            "\"lists\":[{\"query\":\"1\",\"neighbors\":[]},{\"query\":\"2\",\"neighbors\":[]},"
            "{\"query\":\"5\",\"neighbors\":[]}]}\n");
}

TEST(EventHub, ARefusalOfListsHasTheStatusOfItsCode) {
  for (const auto& [code, status] :
       {std::pair(ErrorCode::unknown_stream, 404u), std::pair(ErrorCode::not_allowed, 403u),
        std::pair(ErrorCode::busy, 503u)}) {
    EventHubWorld world;
    const ListsAnswer lists(world);
    world.refuse({code, "No.", {}});
    ASSERT_EQ(lists.answers.size(), 1u);
    EXPECT_EQ(lists.answers[0].status, status);
    EXPECT_THAT(lists.answers[0].body, HasSubstr("\"detail\":\"No.\""));
  }
  EventLimits limits;
  limits.bytes_max = 1000;
  EventHubWorld world(limits);
  const ListsAnswer lists(world);
  world.reply({.list_count = 100});
  ASSERT_EQ(lists.answers.size(), 1u);
  EXPECT_EQ(lists.answers[0].status, 413u);
  EXPECT_THAT(lists.answers[0].body, HasSubstr("http-stream-bytes-max (1000)"));
}

TEST(EventHub, TwoSnapshotsAreFetchedAtATimeAndTheOthersWaitTheirTurn) {
  EventHubWorld world;
  const ListsAnswer first(world, PrincipalId{1});
  const ListsAnswer second(world, PrincipalId{2});
  const ListsAnswer third(world, PrincipalId{3});
  ASSERT_EQ(world.asked.size(), 2u);
  world.refuse({ErrorCode::busy, "No.", {}});
  ASSERT_EQ(world.asked.size(), 2u);
  EXPECT_EQ(first.answers.size(), 1u);
  EXPECT_EQ(world.asked[1].principal, PrincipalId{3});
}

}  // namespace
}  // namespace starling::stream
