// SPDX-License-Identifier: Apache-2.0
// Tests a subscriber that stops reading from a real XPUB socket with a high-water mark of two. It
// loses whole ticks, notices the gap, and resynchronises until its lists are exact. The server
// counts the lost ticks.
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t objects = 500;
constexpr std::uint32_t k = 64;

class SlowSubscriberTest : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.subscriber_ticks_max = 2;
    return options;
  }

  SlowSubscriberTest() {
    EXPECT_TRUE(
        client.put_stream({.name = "graph", .on = ReportOn::distance, .with = {true, true, true}}));
    protocol::QuerySpec graph;
    graph.id = QueryId{1};
    graph.k = k;
    graph.anchor = AnchorKind::every_object;
    EXPECT_TRUE(client.put_queries({"graph", {graph}}));
  }

  /// Moves every object. So every list is reported, and each tick sends 1.4 MB.
  void tick() {
    ++tick_number;
    Fixes fixes;
    for (std::uint64_t id = 0; id < objects; ++id) {
      const auto step = static_cast<double>(
          (id * 7919 + static_cast<std::uint64_t>(tick_number) * 104'729) % 10'007);
      fixes.add(id, tick_number, static_cast<double>(id), step);
    }
    ASSERT_TRUE(client.update(fixes.batch()));
    ASSERT_TRUE(client.advance_tick(tick_number));
  }

  protocol::NeighborAnswers direct_answers() {
    protocol::GetNeighbors request;
    for (std::uint64_t id = 0; id < objects; ++id) {
      protocol::QuerySpec question;
      question.k = k;
      question.anchor = AnchorKind::follow;
      question.object = ObjectId{id};
      request.questions.push_back(question);
    }
    return client.get_neighbors(request).value();
  }

  bool catches_up(protocol::Subscriber& subscriber) {
    return happens([&] {
      subscriber.poll(50);
      return subscriber.state().is_live() && subscriber.state().held_at()->tau_us == tick_number;
    });
  }

  void expect_direct_answers(const protocol::Subscriber& subscriber) {
    const auto answers = direct_answers();
    ASSERT_EQ(answers.lists.size(), objects);
    ASSERT_EQ(subscriber.state().lists().size(), objects);
    for (std::uint64_t id = 0; id < objects; ++id)
      EXPECT_EQ(subscriber.state().lists().at({QueryId{1}, true, ObjectId{id}}).neighbors,
                answers.lists[id].neighbors);
  }

  RunningServer server{options()};
  protocol::Client client = server.client();
  std::int64_t tick_number = 0;
};

TEST_F(SlowSubscriberTest, AStoppedReaderNoticesTheGapResynchronisesAndIsCounted) {
  auto subscriber_options = server.subscriber_options("graph");
  subscriber_options.receive_hwm = 2;
  subscriber_options.report_interval_ms = 1;
  protocol::Subscriber subscriber(server.context(), subscriber_options);
  tick();
  ASSERT_TRUE(catches_up(subscriber));
  // These ticks send 56 MB, which is more than the kernel's socket buffers hold.
  for (int round = 0; round < 40; ++round) tick();
  ASSERT_TRUE(happens([&] {
    tick();
    subscriber.poll(50);
    return subscriber.state().counters().ticks_lost > 0;
  })) << "the reader never noticed";
  ASSERT_TRUE(catches_up(subscriber));
  EXPECT_GE(subscriber.state().counters().snapshots, 2u);
  expect_direct_answers(subscriber);
  const auto lost = static_cast<double>(subscriber.state().counters().ticks_lost);
  EXPECT_TRUE(happens([&] {
    subscriber.poll(1);
    return server.stat("starling_subscriber_lost_ticks_total") == lost;
  }));
}

TEST_F(SlowSubscriberTest, AStoppedReaderHoldsUpNeitherTicksNorOtherReaders) {
  auto slow_options = server.subscriber_options("graph");
  slow_options.receive_hwm = 2;
  protocol::Subscriber slow(server.context(), slow_options);
  protocol::Subscriber brisk(server.context(), server.subscriber_options("graph"));
  ASSERT_TRUE(happens([&] { return server.stat("starling_subscriptions") == 2; }));
  for (int round = 0; round < 20; ++round) {
    tick();
    ASSERT_TRUE(catches_up(brisk));
  }
  EXPECT_EQ(brisk.state().counters().ticks_lost, 0u);
  expect_direct_answers(brisk);
}

}  // namespace
}  // namespace starling::stream
