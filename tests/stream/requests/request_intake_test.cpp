// SPDX-License-Identifier: Apache-2.0
// Tests that requests have their turns by cost, so that no client waits for what others send, and
// that other tasks of the loop run between the turns.
#include "starling/stream/request_intake.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "starling/stream/zmtp/listener.hpp"
#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

/// Counts the room that requests have given back.
struct Room final : ReceivedRoom::Keeper {
  void take_back(const std::shared_ptr<zmtp::Link>&, std::size_t bytes) override { free += bytes; }
  std::size_t free = 0;
};

class RequestIntakeTest : public testing::Test {
 protected:
  RequestIntakeTest() { world.executor.set_us_per_look(1); }

  Peer connect(std::uint64_t connection, const std::string& address) {
    world.hello(connection);
    sessions[connection] = world.session();
    world.replies.clear();
    return {.connection = connection, .address = address_of(address)};
  }
  void send(const Peer& peer, const protocol::RequestBody& body) {
    auto frame = std::make_shared<protocol::Frame>(protocol::encode_request(
        {.request_id = 1,
         .session = sessions[peer.connection],
         .sequence = protocol::is_sequenced(body) ? ++sequences[peer.connection] : 0},
        body));
    intake.receive(peer, {frame, frame->bytes()}, ReceivedRoom(room, link, 10));
  }
  /// Runs the loop until it has given turns once.
  void run_turns() {
    const std::size_t replies = world.replies.size();
    while (world.replies.size() == replies) ASSERT_TRUE(world.executor.run_one());
  }
  /// Runs the loop until the peer has a reply. Returns how many replies others got before.
  std::size_t replies_before(const Peer& peer) {
    const auto is_of_peer = [&](const KeptReply& reply) {
      return reply.peer.connection == peer.connection;
    };
    while (std::ranges::none_of(world.replies, is_of_peer) && world.executor.run_one()) continue;
    const auto found = std::ranges::find_if(world.replies, is_of_peer);
    EXPECT_NE(found, world.replies.end()) << "no reply";
    return static_cast<std::size_t>(found - world.replies.begin());
  }

  RequestWorld world;
  Access access{std::string(), AuditOptions{}};
  Room room;
  boost::asio::io_context lane_loop;
  zmtp::Lane lane{0, lane_loop};
  std::shared_ptr<zmtp::Link> link = std::make_shared<zmtp::Link>(1, PeerAddress{}, lane);
  std::map<std::uint64_t, std::uint64_t> sessions;
  std::map<std::uint64_t, std::uint64_t> sequences;
  RequestIntake intake{world.options(),
                       {.executor = world.executor,
                        .access = access,
                        .metrics = world.metrics(),
                        .requests = world.requests,
                        .tables = world.tables(),
                        .journal = nullptr,
                        .ended = [] {}}};
};

// See request_intake.cpp.
constexpr std::size_t requests_max = 64;
constexpr std::size_t per_turn = 16;

TEST_F(RequestIntakeTest, ARequestThatComesAloneIsServedAtOnce) {
  const Peer peer = connect(1, "10.0.0.1");
  send(peer, protocol::GetStats{});
  EXPECT_EQ(world.replies.size(), 1u);
  EXPECT_EQ(room.free, 10u);
  send(peer, protocol::GetStats{});
  EXPECT_EQ(world.replies.size(), 1u) << "it has come together with the first one";
  world.executor.run();
  EXPECT_EQ(world.replies.size(), 2u);
}

TEST_F(RequestIntakeTest, AQuestionWaitsForOneTurnOfOthersHoweverManyRequestsTheySend) {
  const Peer greedy = connect(1, "10.0.0.1");
  const Peer honest = connect(2, "10.0.0.2");
  for (int count = 0; count < 10'000; ++count) send(greedy, protocol::GetStats{});
  send(honest, protocol::GetNames{});
  EXPECT_LE(replies_before(honest), 2 * per_turn);
}

TEST_F(RequestIntakeTest, ConnectionsOfOneAddressTakeNoMoreThanOneConnectionOfAnother) {
  std::vector<Peer> greedy;
  for (std::uint64_t connection = 1; connection < 33; ++connection)
    greedy.push_back(connect(connection, "10.0.0.1"));
  const Peer honest = connect(40, "10.0.0.2");
  for (const Peer& each : greedy)
    for (int count = 0; count < 100; ++count) send(each, protocol::GetStats{});
  for (int count = 0; count < 10; ++count) send(honest, protocol::GetStats{});
  run_turns();
  EXPECT_EQ(std::ranges::count(world.replies, honest.connection,
                               [](const KeptReply& reply) { return reply.peer.connection; }),
            10);
}

TEST_F(RequestIntakeTest, ABatchWaitsForTheLongOnesOfItsOwnConnectionAlone) {
  const auto batch_of = [](std::uint64_t count) {
    Fixes fixes;
    for (std::uint64_t id = 0; id < count; ++id) fixes.add(id, 1, 0, 0);
    return fixes;
  };
  constexpr std::size_t long_batches = 30;
  const Fixes long_batch = batch_of(30'000);
  const Fixes medium_batch = batch_of(1000);
  const Peer greedy = connect(1, "10.0.0.1");
  const Peer of_same_address = connect(2, "10.0.0.1");
  for (std::size_t count = 0; count < long_batches; ++count) send(greedy, long_batch.batch());
  send(greedy, medium_batch.batch());
  send(of_same_address, medium_batch.batch());
  EXPECT_LE(replies_before(of_same_address), long_batches / 3);
  world.executor.run();
  ASSERT_EQ(world.replies.size(), long_batches + 2);
  EXPECT_EQ(world.replies.back().peer.connection, greedy.connection);
}

TEST_F(RequestIntakeTest, WhatIsRefusedHasTurnsToo) {
  const Peer greedy = connect(1, "10.0.0.1");
  const Peer honest = connect(2, "10.0.0.2");
  for (int count = 0; count < 1000; ++count) intake.receive_malformed(greedy, {});
  sessions[greedy.connection] = 999;  // unknown
  for (int count = 0; count < 1000; ++count) send(greedy, protocol::GetStats{});
  send(honest, protocol::GetNames{});
  EXPECT_LE(replies_before(honest), 2 * per_turn);
}

TEST_F(RequestIntakeTest, ABoundedNumberHasTurnsBetweenTwoOtherTasks) {
  const Peer greedy = connect(1, "10.0.0.1");
  for (std::size_t count = 0; count < 10 * requests_max; ++count)
    send(greedy, protocol::GetStats{});
  std::size_t most = 0;
  std::size_t before = 0;
  std::function<void()> other_task = [&] {
    most = std::max(most, world.replies.size() - before);
    before = world.replies.size();
    if (intake.waiting() > 0) world.executor.post(other_task);
  };
  world.executor.post(other_task);
  world.executor.run();
  EXPECT_EQ(world.replies.size(), 10 * requests_max);
  EXPECT_LE(most, requests_max + per_turn);
}

TEST_F(RequestIntakeTest, ATurnOfRequestsThatTakeLongEndsAfterAMillisecond) {
  const Peer greedy = connect(1, "10.0.0.1");
  for (int count = 0; count < 10; ++count) send(greedy, protocol::GetStats{});
  world.replies.clear();  // that of the first request, which came alone
  world.executor.set_us_per_look(300);
  run_turns();
  EXPECT_LE(world.replies.size(), 2u);
}

/// A request stands still for as long as another program has the processor.
struct StandingRoom final : ReceivedRoom::Keeper {
  explicit StandingRoom(ManualExecutor& the_executor) : executor(the_executor) {}
  void take_back(const std::shared_ptr<zmtp::Link>&, std::size_t) override {
    executor.stand(10'000);
  }
  ManualExecutor& executor;
};

TEST_F(RequestIntakeTest, NobodyPaysForTheTimeInWhichOtherProgramsHaveTheProcessor) {
  const Peer greedy = connect(1, "10.0.0.1");
  const Peer honest = connect(2, "10.0.0.2");
  StandingRoom standing(world.executor);
  for (int count = 0; count < 10'000; ++count) send(greedy, protocol::GetStats{});
  auto frame = std::make_shared<protocol::Frame>(protocol::encode_request(
      {.request_id = 1, .session = sessions[honest.connection]}, protocol::GetNames{}));
  intake.receive(honest, {frame, frame->bytes()}, ReceivedRoom(standing, link, 10));
  replies_before(honest);
  world.replies.clear();
  send(honest, protocol::GetNames{});
  EXPECT_LE(replies_before(honest), 2 * per_turn);
}

TEST_F(RequestIntakeTest, AQuestionPassesBatchesThatWaitForTheWorkers) {
  const Peer greedy = connect(1, "10.0.0.1");
  const Peer honest = connect(2, "10.0.0.2");
  Fixes fixes;
  for (std::uint64_t id = 1; id <= 1000; ++id) fixes.add(id, 1, 1, 1);
  for (int count = 0; count < 500; ++count) send(greedy, fixes.batch());
  send(honest, protocol::GetNames{});
  EXPECT_LE(replies_before(honest), 2 * per_turn);
  world.executor.run();
  EXPECT_EQ(world.replies.size(), 501u) << "and the batches are applied";
  EXPECT_EQ(intake.waiting(), 0u);
}

TEST_F(RequestIntakeTest, RequestsOfOneConnectionKeepTheirOrder) {
  const Peer peer = connect(1, "10.0.0.1");
  Fixes fixes;
  for (std::uint64_t id = 1; id <= 1000; ++id) fixes.add(id, 1, 1, 1);
  constexpr std::array<std::uint64_t, 1> first{1};
  constexpr std::array<std::int64_t, 1> times_us{1};
  for (int count = 0; count < 200; ++count) {
    send(peer, fixes.batch());
    send(peer, protocol::RemoveObjects{.ids = first, .times_us = times_us});
  }
  world.executor.run();
  ASSERT_EQ(world.replies.size(), 400u);
  for (const KeptReply& reply : world.replies)
    ASSERT_TRUE(std::holds_alternative<protocol::BatchReply>(reply.decoded.body))
        << std::get<protocol::ErrorReply>(reply.decoded.body).problem.sentence;
}

TEST_F(RequestIntakeTest, ARequestKeepsItsRoomUntilItsTurn) {
  const Peer greedy = connect(1, "10.0.0.1");
  for (std::size_t count = 0; count < 2 * requests_max; ++count) send(greedy, protocol::GetStats{});
  EXPECT_EQ(room.free, 10u) << "only the first one, which came alone, is served";
  run_turns();
  EXPECT_EQ(room.free, 10 * world.replies.size());
}

TEST_F(RequestIntakeTest, ARequestThatWaitsForTheWorkersKeepsItsRoom) {
  const Peer greedy = connect(1, "10.0.0.1");
  Fixes fixes;
  for (std::uint64_t id = 1; id <= 1000; ++id) fixes.add(id, 1, 1, 1);
  for (int count = 0; count < 500; ++count) send(greedy, fixes.batch());
  while (intake.waiting_for_turns() > 0) {
    ASSERT_TRUE(world.executor.run_one());
    EXPECT_EQ(room.free, 10 * (500 - intake.waiting_for_turns()));
  }
}

TEST_F(RequestIntakeTest, AStopDropsWhatWaitsAndKeepsRequestsOverHttp) {
  const Peer greedy = connect(1, "10.0.0.1");
  Peer over_http = connect(2, "10.0.0.2");
  over_http.in_process = true;
  for (int count = 0; count < 1000; ++count) send(greedy, protocol::GetStats{});
  send(over_http, protocol::GetNames{});
  intake.stop();
  send(greedy, protocol::GetStats{});
  world.executor.run();
  EXPECT_EQ(world.replies.size(), 2u) << "the first one had come alone";
  EXPECT_EQ(intake.waiting(), 0u);
  EXPECT_EQ(room.free, 10u * 1002);
}

}  // namespace
}  // namespace starling::stream
