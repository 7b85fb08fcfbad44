// SPDX-License-Identifier: Apache-2.0
// Tests that a server goes on with its log after a restart: its state, the sessions with their
// replies, the epoch, the ticks and the sequences of streams.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;

std::string hello_frame(std::uint64_t resumed) {
  return encoded({.request_id = 1}, protocol::Hello{.client = "test", .resume_session = resumed});
}

std::string update_frame(std::uint64_t session, std::uint64_t sequence, const Fixes& fixes) {
  return encoded({.request_id = 7, .session = session, .sequence = sequence}, fixes.batch());
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing is thrown";
}

class RandomScripts : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomScripts, ARestartedServerSaysTheSameAsOneThatNeverStopped) {
  constexpr int steps = 150;
  const std::vector<std::string> expected = JournalScript(GetParam(), std::nullopt).run(steps, 0);
  const JournalFolder folder;
  JournalScript script(GetParam(), folder.path());
  const std::vector<std::string> said = script.run(steps, 9);
  EXPECT_GE(script.restarts(), 10);
  ASSERT_EQ(said.size(), expected.size());
  for (std::size_t i = 0; i < said.size(); ++i)
    ASSERT_EQ(said[i], expected[i]) << "line " << i << " of seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScripts, testing::Values(1, 2, 3));

TEST(Restart, ARequestThatIsSentAgainGetsTheSameReplyAndIsNotAppliedTwice) {
  const JournalFolder folder;
  Fixes fixes;
  fixes.add(1, 1000, 0, 0);
  fixes.add(2, 1000, 1e300, 0);
  std::uint64_t session = 0;
  std::optional<protocol::BatchReply> first;
  {
    RunningServer server(journal_options(folder.path()));
    RawPeer peer(server.context(), server.endpoints().commands);
    session = peer.hello();
    const auto reply = peer.ask(update_frame(session, 1, fixes));
    ASSERT_TRUE(reply);
    first = std::get<protocol::BatchReply>(reply->decoded.body);
  }
  RunningServer server(journal_options(folder.path()));
  RawPeer peer(server.context(), server.endpoints().commands);
  EXPECT_EQ(peer.ask(update_frame(session, 1, fixes))->error(), ErrorCode::unknown_session)
      << "the session belongs to no connection until it is resumed";
  const auto resumed = peer.ask(hello_frame(session));
  ASSERT_TRUE(resumed);
  EXPECT_TRUE(std::get<protocol::HelloReply>(resumed->decoded.body).resumed);
  EXPECT_EQ(std::get<protocol::HelloReply>(resumed->decoded.body).last_sequence, 1u);
  const auto again = peer.ask(update_frame(session, 1, fixes));
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<protocol::BatchReply>(again->decoded.body), *first);
  EXPECT_EQ(first->accepted, 1u);
  EXPECT_EQ(first->rejected, 1u);
  Fixes other;
  other.add(3, 1000, 0, 0);
  EXPECT_EQ(peer.ask(update_frame(session, 1, other))->error(), ErrorCode::bad_value)
      << "the hashes of requests are kept too";
}

TEST(Restart, ARequestForATickGetsTheSameReplyAgain) {
  const JournalFolder folder;
  std::uint64_t session = 0;
  const auto advance = [&](RawPeer& peer) {
    return peer.ask(
        encoded({.request_id = 3, .session = session, .sequence = 1}, protocol::AdvanceTick{5000}));
  };
  std::optional<protocol::TickDone> first;
  {
    RunningServer server(journal_options(folder.path()));
    RawPeer peer(server.context(), server.endpoints().commands);
    session = peer.hello();
    first = std::get<protocol::TickDone>(advance(peer)->decoded.body);
  }
  RunningServer server(journal_options(folder.path()));
  RawPeer peer(server.context(), server.endpoints().commands);
  ASSERT_TRUE(peer.ask(hello_frame(session)));
  const auto again = std::get<protocol::TickDone>(advance(peer)->decoded.body);
  EXPECT_EQ(again.tick, first->tick);
  EXPECT_EQ(again.tau_us, first->tau_us);
  EXPECT_EQ(again.build_ms, first->build_ms);
  EXPECT_EQ(again.search_ms, first->search_ms);
}

TEST(Restart, ASessionThatHasEndedStaysEnded) {
  const JournalFolder folder;
  std::uint64_t session = 0;
  {
    RunningServer server(journal_options(folder.path()));
    RawPeer peer(server.context(), server.endpoints().commands);
    session = peer.hello();
    ASSERT_TRUE(peer.ask(encoded({.request_id = 2, .session = session}, protocol::EndSession{})));
  }
  RunningServer server(journal_options(folder.path()));
  RawPeer peer(server.context(), server.endpoints().commands);
  const auto reply = peer.ask(hello_frame(session));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(std::get<protocol::HelloReply>(reply->decoded.body).resumed);
}

TEST(Restart, TicksByTheClockGoOnAndTauNeverGoesBack) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.tick_period_us = 2000;
  const auto tick_of = [](RunningServer& server) {
    auto client = server.client();
    return client.get_neighbors({{nearest_to(0, 1, 0, 0)}}).value();
  };
  protocol::NeighborAnswers before;
  {
    RunningServer server(options);
    ASSERT_TRUE(happens([&] {
      before = tick_of(server);
      return to_number(before.tick) >= 3;
    }));
  }
  options.wall_now_us = [] { return starling::wall_now_us() - 3'600'000'000; };
  RunningServer server(options);
  protocol::NeighborAnswers after;
  ASSERT_TRUE(happens([&] {
    after = tick_of(server);
    return to_number(after.tick) > to_number(before.tick) + 5;
  }));
  EXPECT_GE(after.tau_us, before.tau_us);
  EXPECT_EQ(after.epoch, before.epoch);
}

TEST(Restart, VectorsAreKept) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.processor.space = {.space = Space::vector, .dimension = 3, .metric = Metric::cosine};
  const std::vector<float> components{1, 2, 3, -1, 0.5f, 0};
  const std::vector<std::uint64_t> ids{4, 9};
  const std::vector<std::int64_t> times_us{10, 20};
  protocol::QuerySpec query{.id = QueryId{1}, .k = 2, .vector = {1, 1, 1}};
  const auto ask = [&](RunningServer& server) {
    auto client = server.client();
    return client.get_neighbors({{query}}).value().lists[0];
  };
  protocol::HeldList before;
  {
    RunningServer server(options);
    auto client = server.client();
    protocol::UpdateBatch batch{.ids = ids, .times_us = times_us};
    batch.coordinates_f32 = components;
    batch.dimension = 3;
    ASSERT_EQ(client.update(batch).value().accepted, 2u);
    ASSERT_TRUE(client.advance_tick(100));
    before = ask(server);
    ASSERT_EQ(before.neighbors.size(), 2u);
  }
  RunningServer server(options);
  EXPECT_EQ(ask(server), before);
}

TEST(Restart, ALogOfOtherOptionsIsRefusedByName) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  { const RunningServer server(options); }
  options.processor.objects.object_ttl_us = 7'000'000;
  options.processor.space.space = Space::planar3;
  EXPECT_THAT(
      message_of([&] { Server(options, make_engine(options.processor.space)); }),
      testing::AllOf(testing::HasSubstr("--space was planar2 and is planar3"),
                     testing::HasSubstr("--object-ttl was none and is 7s"),
                     testing::HasSubstr("start with the old ones, or with another folder")));
}

TEST(Restart, ALogThatIsTooLargeForTheNewLimitsIsRefused) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  {
    const RunningServer server(options);
    auto client = server.client();
    Fixes fixes;
    for (std::uint64_t id = 0; id < 100; ++id) fixes.add(id, 1, 0, 0);
    ASSERT_EQ(client.update(fixes.batch()).value().accepted, 100u);
  }
  options.processor.objects.objects_max = 10;
  EXPECT_THAT(message_of([&] { Server(options, make_engine()); }),
              testing::HasSubstr("Start it with the limits that it had"));
  options.processor.objects.objects_max = 1000;
  RunningServer server(options);
  EXPECT_EQ(server.stat("starling_objects"), 100);
}

TEST(Restart, TwoServersDoNotShareALog) {
  const JournalFolder folder;
  const RunningServer server(journal_options(folder.path()));
  EXPECT_THAT(message_of([&] { Server(journal_options(folder.path()), make_engine()); }),
              testing::HasSubstr("; stop that server, or give another folder"));
}

}  // namespace
}  // namespace starling::stream
