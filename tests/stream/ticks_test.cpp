// SPDX-License-Identifier: Apache-2.0
// Tests ticks that take long, ticks that fail, and ticks that are under way when the server stops.
// The engine of these tests finishes a tick only when the test calls finish().
#include <future>
#include <stdexcept>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/held_engine.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;

std::string advance_frame(std::uint64_t session, std::uint64_t sequence, std::int64_t tau_us) {
  return encoded({.request_id = 100 + sequence, .session = session, .sequence = sequence},
                 protocol::AdvanceTick{tau_us});
}

class TicksTest : public testing::Test {
 protected:
  std::unique_ptr<RunningServer> start(ServerOptions options) {
    return std::make_unique<RunningServer>(options, std::make_unique<HeldEngine>(control));
  }

  std::shared_ptr<HeldEngine::Control> control = std::make_shared<HeldEngine::Control>();
};

TEST_F(TicksTest, AnOverrunTickIsSkippedAndCountedNeverQueued) {
  ServerOptions options = manual_options();
  options.tick_period_us = 1000;
  const auto server = start(options);
  ASSERT_TRUE(happens([&] { return server->stat("starling_tick_overruns_total") >= 3; }));
  EXPECT_EQ(control->begun, 1) << "the ticks that were due meanwhile must not begin";
  EXPECT_EQ(server->stat("starling_ticks_total"), 0);
  ASSERT_TRUE(control->finish());
  ASSERT_TRUE(happens([&] { return control->begun == 2; }));
  EXPECT_EQ(server->stat("starling_ticks_total"), 1)
      << "one tick has finished, although several were due";
  control->finish();
}

TEST_F(TicksTest, RequestsAreAnsweredWhileATickIsUnderWay) {
  const auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  peer.send(advance_frame(session, 1, 1000));
  Fixes fixes;
  fixes.add(1, 1, 0, 0);
  auto client = server->client();
  ASSERT_TRUE(happens([&] { return control->begun == 1; }));
  EXPECT_EQ(client.update(fixes.batch()).value().accepted, 1u);
  ASSERT_TRUE(control->finish());
  const auto done = peer.receive();
  ASSERT_TRUE(done);
  EXPECT_EQ(to_number(std::get<protocol::TickDone>(done->decoded.body).tick), 1u);
}

TEST_F(TicksTest, AClientPostsRowsWhileItsTickIsUnderWay) {
  const auto server = start(manual_options());
  auto client = server->client();
  Fixes fixes;
  for (std::uint64_t id = 0; id < 1000; ++id) fixes.add(id, 1, 0, 0);
  for (const std::int64_t tau_us : {1000, 2000}) {
    ASSERT_FALSE(client.begin_tick(tau_us));
    ASSERT_FALSE(client.post(fixes.batch()));
    ASSERT_FALSE(client.post(fixes.batch()));
    EXPECT_EQ(client.flush().accepted, 2000u) << "flush must not wait for the tick";
    EXPECT_EQ(client.update(fixes.batch()).value().accepted, 1000u);
    ASSERT_TRUE(happens([&] { return control->finish(); }));
    EXPECT_TRUE(client.get_stats()) << "the tick's reply may come before another one";
    const auto done = client.finish_tick();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->tau_us, tau_us);
  }
  control->error = "the engine's reason";
  ASSERT_FALSE(client.begin_tick(3000));
  ASSERT_TRUE(happens([&] { return control->finish(); }));
  const auto failed = client.finish_tick();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.problem().code, ErrorCode::tick_failed);
  EXPECT_EQ(client.flush().accepted, 0u);
}

TEST_F(TicksTest, ASecondAdvanceIsToldToWaitAndDoesNotUseItsNumber) {
  const auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  peer.send(advance_frame(session, 1, 1000));
  const auto busy = peer.ask(advance_frame(session, 2, 2000));
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->error(), ErrorCode::busy);
  ASSERT_TRUE(control->finish());
  ASSERT_TRUE(peer.receive());
  peer.send(advance_frame(session, 2, 2000));
  ASSERT_TRUE(happens([&] { return control->finish(); }));
  const auto done = peer.receive();
  ASSERT_TRUE(done);
  EXPECT_EQ(to_number(std::get<protocol::TickDone>(done->decoded.body).tick), 2u);
}

TEST_F(TicksTest, AnEngineWithRoomIsAdvancedBeforeTheLastTickIsDoneAndEachIsAnsweredInOrder) {
  control->room = 2;
  const auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  RawPeer other(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  const std::uint64_t other_session = other.hello();
  peer.send(advance_frame(session, 1, 1000));
  ASSERT_TRUE(happens([&] { return control->begun == 1; }));
  other.send(advance_frame(other_session, 1, 2000));
  ASSERT_TRUE(happens([&] { return control->begun == 2; }));
  const auto busy = peer.ask(advance_frame(session, 2, 3000));
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->error(), ErrorCode::busy);
  ASSERT_TRUE(control->finish());
  const auto first = peer.receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(to_number(std::get<protocol::TickDone>(first->decoded.body).tick), 1u);
  ASSERT_TRUE(control->finish());
  const auto second = other.receive();
  ASSERT_TRUE(second);
  EXPECT_EQ(to_number(std::get<protocol::TickDone>(second->decoded.body).tick), 2u);
}

TEST_F(TicksTest, AServerThatStopsFinishesEveryTickThatHasBegun) {
  control->room = 2;
  auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  for (const std::uint64_t sequence : {1u, 2u})
    peer.send(advance_frame(session, sequence, static_cast<std::int64_t>(sequence)));
  ASSERT_TRUE(happens([&] { return control->begun == 2; }));
  const auto stopped = std::async(std::launch::async, [&] { server->stop(); });
  for (const std::uint64_t tick : {1u, 2u}) {
    ASSERT_TRUE(happens([&] { return control->finish(); }));
    const auto done = peer.receive();
    ASSERT_TRUE(done);
    EXPECT_EQ(to_number(std::get<protocol::TickDone>(done->decoded.body).tick), tick);
  }
  stopped.wait();
}

TEST_F(TicksTest, AResentAdvanceIsAnsweredToTheOneWhoSentItLast) {
  const auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  peer.send(advance_frame(session, 1, 1000));
  ASSERT_TRUE(happens([&] { return control->begun == 1; }));
  RawPeer other(server->context(), server->endpoints().commands);
  ASSERT_TRUE(other.ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = session})));
  other.send(advance_frame(session, 1, 1000));
  other.hello();  // returns when the server has read the resend
  ASSERT_TRUE(control->finish());
  const auto done = other.receive();
  ASSERT_TRUE(done);
  EXPECT_TRUE(std::holds_alternative<protocol::TickDone>(done->decoded.body));
  EXPECT_EQ(control->begun, 1);
}

TEST_F(TicksTest, AFailedTickIsToldCountedAndUnhealthyUntilTheNext) {
  const auto server = start(manual_options());
  control->error = "the device is gone";
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  peer.send(advance_frame(session, 1, 1000));
  ASSERT_TRUE(happens([&] { return control->finish(); }));
  const auto failed = peer.receive();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error(), ErrorCode::tick_failed);
  EXPECT_NE(http_get(server->endpoints().http, "/healthz").find("the device is gone"),
            std::string::npos);
  EXPECT_EQ(server->stat("starling_ticks_failed_total"), 1);
  control->error.clear();
  peer.send(advance_frame(session, 2, 2000));
  ASSERT_TRUE(happens([&] { return control->finish(); }));
  ASSERT_TRUE(peer.receive());
  EXPECT_TRUE(http_get(server->endpoints().http, "/healthz").starts_with("HTTP/1.1 200"));
}

TEST_F(TicksTest, AServerWhoseEngineIsLostEndsAndSaysWhy) {
  control->error = "the device is gone";
  control->is_engine_lost = true;
  ServerOptions options = manual_options();
  options.tick_period_us = 1000;
  Server server(options, std::make_unique<HeldEngine>(control));
  auto ended = std::async(std::launch::async, [&server] { server.run(); });
  ASSERT_TRUE(happens([&] { return control->finish(); }));
  EXPECT_THAT([&] { ended.get(); }, testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr(
                                        "the device is gone; start the server again")));
}

TEST_F(TicksTest, AnAnswerThatTheEngineCannotGiveIsAnErrorAndHoldsNoPlace) {
  control->answers_error = "out of memory; ask in smaller parts";
  const auto server = start(manual_options());
  auto client = server->client();
  const auto refused = client.get_neighbors({{nearest_to(0, 2, 0, 0)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::answer_failed);
  EXPECT_NE(refused.problem().sentence.find("ask in smaller parts"), std::string::npos);
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}));
  const auto page =
      client.get_snapshot_page({.stream = "s", .query_ids = {}, .page = 0}, [](const auto&) {});
  ASSERT_FALSE(page);
  EXPECT_EQ(page.problem().code, ErrorCode::answer_failed);
  EXPECT_EQ(server->stat("starling_snapshots"), 0);
  EXPECT_EQ(server->stat("starling_searches"), 0);
}

TEST_F(TicksTest, StoppingFinishesTheTickUnderWayAndAnswersIt) {
  const auto server = start(manual_options());
  RawPeer peer(server->context(), server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  peer.send(advance_frame(session, 1, 1000));
  ASSERT_TRUE(happens([&] { return control->begun == 1; }));
  std::thread stopper([&] { server->stop(); });
  ASSERT_TRUE(control->finish());
  const auto done = peer.receive();
  stopper.join();
  ASSERT_TRUE(done);
  EXPECT_TRUE(std::holds_alternative<protocol::TickDone>(done->decoded.body));
}

}  // namespace
}  // namespace starling::stream
