// SPDX-License-Identifier: Apache-2.0
// Tests streams, ticks, snapshots, questions, statistics and losses without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::HasSubstr;

TEST(StreamRequests, AStreamIsMadeOnceListedAndRemovedWithItsQueries) {
  RequestWorld world;
  world.hello();
  world.put_near(4);
  const auto streams = std::get<protocol::Streams>(world.ask(protocol::ListStreams{}));
  ASSERT_EQ(streams.streams.size(), 1u);
  EXPECT_EQ(streams.streams[0].name, "near");
  EXPECT_EQ(streams.streams[0].query_count, 4u);
  EXPECT_EQ(streams.streams[0].subscription_count, 3u);
  EXPECT_TRUE(std::holds_alternative<protocol::Done>(world.ask(protocol::RemoveStream{"near"})));
  EXPECT_EQ(world.tables().processor().queries().query_count(), 0u);
  EXPECT_EQ(world.refusal(protocol::RemoveStream{"near"}).code, ErrorCode::unknown_stream);
}

TEST(StreamRequests, ASessionMayMakeAsManyStreamsAsItsLimitAndGetsPlacesBack) {
  ServerOptions options = RequestWorld::small_options();
  options.sessions.streams_max = 1;
  RequestWorld world(options);
  world.hello();
  world.put_near();
  const protocol::PutStream more{.name = "more", .on = ReportOn::order, .with = {}};
  EXPECT_THAT(world.refusal(more).sentence, HasSubstr("session-streams-max (1)"));
  world.ask(protocol::RemoveStream{"near"});
  world.tick(1);
  EXPECT_TRUE(std::holds_alternative<protocol::Done>(world.ask(more)));
}

TEST(StreamRequests, OnlyTheOwnerOrAnAdminChangesAStreamOfAServerWithKeys) {
  RequestWorld world(RequestWorld::small_options(), "ann");
  world.hello();
  world.put_near();
  world.principal().id = PrincipalId{6};
  world.principal().name = "bob";
  world.principal().roles.reset(static_cast<std::size_t>(Role::admin));
  world.hello(2);
  EXPECT_EQ(world.refusal(protocol::RemoveStream{"near"}).code, ErrorCode::not_allowed);
  world.principal().roles.set(static_cast<std::size_t>(Role::admin));
  EXPECT_TRUE(std::holds_alternative<protocol::Done>(world.ask(protocol::RemoveStream{"near"})));
}

TEST(TickRequests, ATickIsAnsweredWhenItIsPublishedAndAnotherWaitsForIt) {
  RequestWorld world;
  world.hello();
  world.put_objects(3);
  world.put_near();
  EXPECT_EQ(world.tick(10).object_count, 3u);
  EXPECT_EQ(world.results.sent, 1u);
  EXPECT_EQ(world.refusal(protocol::AdvanceTick{9}).code, ErrorCode::tau_too_early);
  EXPECT_EQ(world.tick(10).list_count, 0u);
}

TEST(TickRequests, OneThatIsSentAgainIsAnsweredOnceToItsLastSender) {
  RequestWorld world;
  const std::uint64_t session = world.hello(1);
  world.replies.clear();
  const protocol::RequestHead head{.request_id = 50, .session = session, .sequence = 1};
  world.hand_in(head, protocol::AdvanceTick{10});
  world.hand_in({.request_id = 51, .session = session, .sequence = 1}, protocol::AdvanceTick{10});
  ASSERT_TRUE(world.executor.run_until([&] { return !world.replies.empty(); }));
  world.executor.run();
  ASSERT_EQ(world.replies.size(), 1u);
  EXPECT_EQ(world.replies[0].decoded.head.request_id, 51u);
}

TEST(SnapshotRequests, AStreamIsReadPageByPageAtOneTick) {
  RequestWorld world;
  world.hello();
  world.put_objects(5);
  world.put_near(3);
  world.tick(10);
  const auto page = std::get<protocol::SnapshotPage>(
      world.ask(protocol::GetSnapshot{.stream = "near", .query_ids = {}, .page = 0}));
  EXPECT_EQ(page.head.list_count, 3u);
  EXPECT_EQ(page.head.next_page, 0u);
  EXPECT_EQ(page.head.tick, Tick{1});
  const std::vector<std::uint64_t> ids{2, 2, 77};
  const auto some = std::get<protocol::SnapshotPage>(
      world.ask(protocol::GetSnapshot{.stream = "near", .query_ids = ids, .page = 0}));
  EXPECT_EQ(some.head.list_count, 1u) << "an id that comes twice, and one that does not exist";
  EXPECT_EQ(
      world.refusal(protocol::GetSnapshot{.stream = "near", .query_ids = {}, .page = 1u << 30})
          .code,
      ErrorCode::page_expired);
  EXPECT_EQ(world.refusal(protocol::GetSnapshot{.stream = "none", .query_ids = {}, .page = 0}).code,
            ErrorCode::unknown_stream);
}

TEST(QuestionRequests, TheLastTickAnswersAndThePastNeedsALog) {
  RequestWorld world;
  world.hello();
  world.put_objects(5);
  world.tick(10);
  const std::vector<protocol::QuerySpec> questions{nearest_to(0, 2, 0, 0)};
  const auto answers =
      std::get<protocol::Neighbors>(world.ask(protocol::GetNeighbors{.questions = questions}));
  EXPECT_EQ(answers.head.tick, Tick{1});
  EXPECT_EQ(answers.lists.list_count(), 1u);
  const auto problem =
      world.refusal(protocol::GetNeighbors{.questions = questions, .at_us = std::int64_t{3}});
  EXPECT_EQ(problem.code, ErrorCode::bad_value);
  EXPECT_THAT(problem.sentence, HasSubstr("--journal"));
}

TEST(ReportRequests, LossesCountOnceAndStatisticsAreNamed) {
  RequestWorld world;
  world.hello();
  world.put_near();
  world.tick(10);
  world.tick(20);
  const protocol::ReportReceived report{.stream = "near", .epoch = 7, .sequence = 2, .lost = 1};
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(std::get<protocol::Done>(world.ask(report)).sequence, 2u);
  const auto stats = std::get<protocol::Stats>(world.ask(protocol::GetStats{}));
  const auto value_of = [&](std::string_view name) {
    for (const auto& counter : stats.counters)
      if (counter.name == name) return counter.value;
    return -1.0;
  };
  EXPECT_EQ(value_of("starling_ticks_total"), 2);
  EXPECT_EQ(value_of("starling_subscriber_lost_ticks_total"), 1);
  EXPECT_EQ(world.refusal(protocol::ReportReceived{.stream = "none"}).code,
            ErrorCode::unknown_stream);
}

}  // namespace
}  // namespace starling::stream
