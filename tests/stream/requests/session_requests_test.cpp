// SPDX-License-Identifier: Apache-2.0
// Tests Hello and EndSession without sockets: ids that are guessed, sessions that are resumed, and
// what ends with a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::HasSubstr;

TEST(SessionRequests, ASessionIsResumedByItsIdOnAnotherConnection) {
  RequestWorld world;
  const std::uint64_t session = world.hello(1);
  world.put_objects(3);
  world.hello(2);
  const auto reply = std::get<protocol::HelloReply>(
      world.ask(protocol::Hello{.client = "again", .resume_session = session}));
  EXPECT_TRUE(reply.resumed);
  EXPECT_EQ(reply.session, session);
  EXPECT_EQ(reply.last_sequence, 1u);
}

TEST(SessionRequests, APeerThatGuessesIsRefusedBeforeTheServerLooks) {
  ServerOptions options = RequestWorld::small_options();
  options.guesses = {.burst = 2, .interval_us = 1'000'000};
  RequestWorld world(options);
  const std::uint64_t session = world.hello(1);
  world.hello(2);
  for (int guess = 0; guess < 2; ++guess) {
    world.replies.clear();
    world.send({.request_id = 1, .session = 999}, protocol::GetStats{});
    EXPECT_EQ(std::get<protocol::ErrorReply>(world.replies.at(0).decoded.body).problem.code,
              ErrorCode::unknown_session);
  }
  world.replies.clear();
  world.send({.request_id = 2, .session = session}, protocol::GetStats{});
  const auto problem = std::get<protocol::ErrorReply>(world.replies.at(0).decoded.body).problem;
  EXPECT_EQ(problem.code, ErrorCode::busy);
  EXPECT_THAT(problem.sentence, HasSubstr("unknown-sessions-burst (2)"));
  world.executor.advance(1'000'000);
  world.replies.clear();
  world.send({.request_id = 3, .session = 998}, protocol::GetStats{});
  EXPECT_EQ(std::get<protocol::ErrorReply>(world.replies.at(0).decoded.body).problem.code,
            ErrorCode::unknown_session);
}

TEST(SessionRequests, HellosBeyondTheBurstAreRefusedUntilTimeHasPassed) {
  ServerOptions options = RequestWorld::small_options();
  options.hellos = {.burst = 2, .interval_us = 4000};
  RequestWorld world(options);
  world.hello(1);
  world.hello(2);
  const auto ask_hello = [&] {
    world.replies.clear();
    world.send({.request_id = 1}, protocol::Hello{.client = "again"});
    return world.replies.at(0).decoded.body;
  };
  const auto problem = std::get<protocol::ErrorReply>(ask_hello()).problem;
  EXPECT_EQ(problem.code, ErrorCode::busy);
  EXPECT_THAT(problem.sentence, HasSubstr("hellos-burst (2)"));
  world.executor.advance(4000);
  EXPECT_TRUE(std::holds_alternative<protocol::HelloReply>(ask_hello()));
}

TEST(SessionRequests, AnEndedOrIdleSessionIsUnknownAndItsCreditIsGone) {
  for (const bool is_idle : {false, true}) {
    ServerOptions options = RequestWorld::small_options();
    options.sessions.idle_us = 1'000'000;
    RequestWorld world(options);
    const std::uint64_t session = world.hello();
    if (is_idle) {
      world.executor.advance(1'000'001);
      world.requests.expire(world.executor.now_us());
    } else {
      EXPECT_TRUE(std::holds_alternative<protocol::Done>(world.ask(protocol::EndSession{})));
    }
    EXPECT_EQ(world.credit().take(session, {.rows = 1, .bytes = 1}),
              CreditLedger::Taken::unknown_session);
    EXPECT_EQ(world.refusal(protocol::GetStats{}).code, ErrorCode::unknown_session);
    EXPECT_EQ(world.requests.sessions().count(), 0u);
  }
}

TEST(SessionRequests, NoSessionGivesWayWhileItIsInUse) {
  ServerOptions options = RequestWorld::small_options();
  options.sessions.sessions_max = 1;
  RequestWorld world(options);
  world.hello(1);
  world.put_objects(1);
  world.replies.clear();
  world.send({.request_id = 9}, protocol::Hello{.client = "second"});
  const auto problem = std::get<protocol::ErrorReply>(world.replies.at(0).decoded.body).problem;
  EXPECT_EQ(problem.code, ErrorCode::too_many_sessions);
  EXPECT_THAT(problem.sentence, HasSubstr("sessions-max (1)"));
}

TEST(SessionRequests, AConnectionHasAsManySessionsAsItMayAlsoIfItIsAWebSocket) {
  for (const bool is_web_socket : {false, true}) {
    ServerOptions options = RequestWorld::small_options();
    options.sessions.connection_sessions_max = 2;
    RequestWorld world(options);
    for (int session = 0; session < 2; ++session) {
      world.hello(5, is_web_socket);
      world.put_objects(1);
    }
    world.replies.clear();
    world.send({.request_id = 9}, protocol::Hello{.client = "third"});
    const auto* const refusal =
        std::get_if<protocol::ErrorReply>(&world.replies.at(0).decoded.body);
    ASSERT_NE(refusal, nullptr) << is_web_socket;
    EXPECT_THAT(refusal->problem.sentence, HasSubstr("connection-sessions-max (2)"));
    EXPECT_NE(world.hello(6, is_web_socket), 0u) << "another connection has its own";
  }
}

}  // namespace
}  // namespace starling::stream
