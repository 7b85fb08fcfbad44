// SPDX-License-Identifier: Apache-2.0
// Tests that a client cannot find, use or disturb the session of another one, and that a client
// still goes on with its own session after a reconnect.
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::BatchReply;
using protocol::ErrorCode;
using protocol::ErrorReply;
using protocol::HelloReply;

class SessionsOfClients : public testing::Test {
 protected:
  RawPeer peer() { return RawPeer(server.context(), server.endpoints().commands); }

  static std::string update(std::uint64_t session, std::uint64_t sequence, double x,
                            std::uint64_t rows = 1) {
    Fixes fixes;
    for (std::uint64_t id = 1; id <= rows; ++id) fixes.add(id, 1, x, 0);
    return encoded({.request_id = sequence, .session = session, .sequence = sequence},
                   fixes.batch());
  }
  static std::string hello(std::uint64_t resume_session) {
    return encoded({}, protocol::Hello{.client = "raw", .resume_session = resume_session});
  }
  static const ErrorReply& error_of(const RawReply& reply) {
    return std::get<ErrorReply>(reply.decoded.body);
  }
  static std::uint64_t accepted(const std::unique_ptr<RawReply>& reply) {
    return std::get<BatchReply>(reply->decoded.body).accepted;
  }

  RunningServer server;
  RawPeer alice = peer();
  RawPeer bob = peer();
  const std::uint64_t session = alice.hello();
};

TEST_F(SessionsOfClients, IdsAreRandomAndTellNothingAboutEachOtherOrTheEpoch) {
  const std::uint64_t epoch = server.client().server().epoch;
  std::set<std::uint64_t> ids;
  std::uint64_t last = epoch;
  int bits_changed = 0;
  constexpr int sessions = 100;
  for (int opened = 0; opened < sessions; ++opened) {
    const std::uint64_t id = bob.hello();
    EXPECT_TRUE(ids.insert(id).second);
    bits_changed += std::popcount(id ^ last);
    last = id;
  }
  // 3,200 of 6,400 random bits change, with a standard deviation of 40.
  EXPECT_GT(bits_changed, 3200 - 320);
  EXPECT_LT(bits_changed, 3200 + 320);
}

TEST_F(SessionsOfClients, AnotherConnectionsSessionIsUnknownAndItsOwnerLosesNothing) {
  for (const std::uint64_t named : {session, session + 1, std::uint64_t{1}}) {
    for (const std::uint64_t sequence : {1u, 2u, 7u}) {
      const auto refused = bob.ask(update(named, sequence, 9));
      ASSERT_EQ(refused->error(), ErrorCode::unknown_session);
      EXPECT_EQ(error_of(*refused).sequence_expected, 0u);
    }
    const auto refused =
        bob.ask(encoded({.request_id = 1, .session = named}, protocol::GetStats{}));
    EXPECT_EQ(refused->error(), ErrorCode::unknown_session);
  }
  EXPECT_EQ(accepted(alice.ask(update(session, 1, 5, 3))), 3u);
  EXPECT_EQ(server.stat("starling_objects"), 3) << "the rows of the owner are applied";
}

TEST_F(SessionsOfClients, ABadRequestTellsNothingAboutAForeignSession) {
  EXPECT_EQ(accepted(alice.ask(update(session, 1, 5))), 1u);
  const protocol::PutStream bad{.name = "", .on = ReportOn::order, .with = {}};
  for (const std::uint64_t named : {session, session + 1}) {
    const auto refused = bob.ask(encoded({.request_id = 1, .session = named, .sequence = 9}, bad));
    EXPECT_EQ(refused->error(), ErrorCode::unknown_session);
    EXPECT_EQ(error_of(*refused).sequence_expected, 0u);
  }
  const auto own = alice.ask(update(session, 9, 5));
  EXPECT_EQ(own->error(), ErrorCode::sequence_gap);
  EXPECT_EQ(error_of(*own).sequence_expected, 2u) << "the owner is told";
}

TEST_F(SessionsOfClients, AfterAReconnectASessionGoesOnAndAResendIsAnswered) {
  EXPECT_EQ(accepted(alice.ask(update(session, 1, 5, 2))), 2u);
  RawPeer again = peer();
  EXPECT_EQ(again.ask(update(session, 1, 5, 2))->error(), ErrorCode::unknown_session)
      << "before Hello the new connection has no session";
  const auto resumed = again.ask(hello(session));
  const auto& terms = std::get<HelloReply>(resumed->decoded.body);
  EXPECT_TRUE(terms.resumed);
  EXPECT_EQ(terms.last_sequence, 1u);
  EXPECT_EQ(accepted(again.ask(update(session, 1, 5, 2))), 2u);
  EXPECT_EQ(accepted(again.ask(update(session, 2, 6, 2))), 2u);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 4);
  EXPECT_EQ(alice.ask(update(session, 3, 7))->error(), ErrorCode::unknown_session)
      << "the session has moved to the new connection";
}

TEST_F(SessionsOfClients, ABadRequestBeforeHelloOnANewConnectionKeepsItsNumber) {
  EXPECT_EQ(accepted(alice.ask(update(session, 1, 5))), 1u);
  RawPeer again = peer();
  const protocol::PutStream bad{.name = "", .on = ReportOn::order, .with = {}};
  const std::string frame = encoded({.request_id = 2, .session = session, .sequence = 2}, bad);
  EXPECT_EQ(again.ask(frame)->error(), ErrorCode::unknown_session);
  EXPECT_TRUE(std::get<HelloReply>(again.ask(hello(session))->decoded.body).resumed);
  EXPECT_EQ(again.ask(frame)->error(), ErrorCode::bad_text) << "now it uses up the number";
  EXPECT_EQ(accepted(again.ask(update(session, 3, 6))), 1u);
}

TEST_F(SessionsOfClients, AUsedNumberAnswersOnlyTheSameRequest) {
  const std::string first = update(session, 1, 5);
  EXPECT_EQ(accepted(alice.ask(first)), 1u);
  const auto refused = alice.ask(update(session, 1, 6));
  EXPECT_EQ(refused->error(), ErrorCode::bad_value);
  EXPECT_EQ(error_of(*refused).problem.sentence,
            "Sequence number 1 was used for another request; send only the same request again with "
            "a number that was used, and go on with 2.");
  EXPECT_EQ(error_of(*refused).sequence_expected, 2u);
  EXPECT_EQ(accepted(alice.ask(first)), 1u);
  Fixes same;
  same.add(1, 1, 5, 0);
  const auto renamed =
      alice.ask(encoded({.request_id = 77, .session = session, .sequence = 1}, same.batch()));
  EXPECT_EQ(accepted(renamed), 1u) << "the request id is not a part of what is compared";
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 1);
}

TEST_F(SessionsOfClients, AClientThatLeavesTakesItsSessionWithIt) {
  const double before = server.stat("starling_sessions");
  {
    protocol::Client client = server.client();
    ASSERT_TRUE(client.put_stream({.name = "riders"}));
    EXPECT_EQ(server.stat("starling_sessions"), before + 1);
  }
  EXPECT_EQ(server.stat("starling_sessions"), before);
  EXPECT_EQ(server.stat("starling_streams"), 1) << "what the session made stays";
}

TEST_F(SessionsOfClients, OnlyItsOwnerEndsASession) {
  const std::string end = encoded({.request_id = 1, .session = session}, protocol::EndSession{});
  EXPECT_EQ(bob.ask(end)->error(), ErrorCode::unknown_session);
  EXPECT_EQ(accepted(alice.ask(update(session, 1, 5))), 1u);
  EXPECT_TRUE(std::holds_alternative<protocol::Done>(alice.ask(end)->decoded.body));
  EXPECT_EQ(alice.ask(end)->error(), ErrorCode::unknown_session);
  EXPECT_EQ(alice.ask(update(session, 2, 5))->error(), ErrorCode::unknown_session);
  const auto opened = alice.ask(hello(session));
  EXPECT_FALSE(std::get<HelloReply>(opened->decoded.body).resumed);
}

TEST(SessionPlaces, SilentSessionsGiveWayAndTheirClientsGoOn) {
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 3;
  options.sessions.gives_way_us = 0;
  RunningServer server(options);
  protocol::Client silent = server.client();
  const auto put = [&](std::uint64_t id) {
    Fixes fixes;
    fixes.add(id, 1, 0, 0);
    return silent.update(fixes.batch());
  };
  ASSERT_TRUE(put(1));
  const std::uint64_t session = silent.server().session;
  for (int opened = 0; opened < 5; ++opened) {
    RawPeer peer(server.context(), server.endpoints().commands);
    const auto stats =
        peer.ask(encoded({.request_id = 1, .session = peer.hello()}, protocol::GetStats{}));
    ASSERT_EQ(stats->error(), ErrorCode::none);
  }
  ASSERT_TRUE(put(2)) << "the client has opened another session";
  EXPECT_NE(silent.server().session, session);
  EXPECT_EQ(server.stat("starling_objects"), 2);
  EXPECT_EQ(server.stat("starling_sessions"), 3);
}

TEST(SessionLog, OneConnectionCausesFewLinesOfTheLog) {
  ServerOptions options = manual_options();
  options.log_lines = {.burst = 5, .interval_us = 3'600'000'000};
  RunningServer server(options);
  RawPeer peer(server.context(), server.endpoints().commands);
  for (int opened = 0; opened < 12; ++opened) peer.hello();
  EXPECT_EQ(server.stat("starling_log_lines_left_out_total"), 7);
}

TEST(SessionGuesses, WithBatchesCountToo) {
  ServerOptions options = manual_options();
  options.guesses = {.burst = 2, .interval_us = 3'600'000'000};
  RunningServer server(options);
  RawPeer alice(server.context(), server.endpoints().commands);
  RawPeer bob(server.context(), server.endpoints().commands);
  const std::uint64_t session = alice.hello();
  Fixes fixes;
  fixes.add(1, 1, 0, 0);
  const auto guess = [&](std::uint64_t named) {
    return bob.ask(encoded({.request_id = 1, .session = named, .sequence = 1}, fixes.batch()))
        ->error();
  };
  EXPECT_EQ(guess(1), ErrorCode::unknown_session);
  EXPECT_EQ(guess(session), ErrorCode::unknown_session) << "a right guess looks like a wrong one";
  EXPECT_EQ(guess(2), ErrorCode::busy);
  EXPECT_EQ(guess(session), ErrorCode::busy);
}

TEST(SessionGuesses, BeyondTheBurstAreRefusedWhateverSessionTheyName) {
  ServerOptions options = manual_options();
  options.guesses = {.burst = 4, .interval_us = 3'600'000'000};
  RunningServer server(options);
  RawPeer alice(server.context(), server.endpoints().commands);
  RawPeer bob(server.context(), server.endpoints().commands);
  const std::uint64_t session = alice.hello();
  const std::uint64_t own = bob.hello();
  const auto stats = [](std::uint64_t named) {
    return encoded({.request_id = 1, .session = named}, protocol::GetStats{});
  };
  const auto resume = [](std::uint64_t named) {
    return encoded({}, protocol::Hello{.client = "raw", .resume_session = named});
  };
  for (const std::uint64_t guess : {1u, 2u, 3u})
    EXPECT_EQ(bob.ask(stats(guess))->error(), ErrorCode::unknown_session);
  EXPECT_EQ(bob.ask(resume(4))->error(), ErrorCode::none) << "a new session is opened";
  const auto refused = bob.ask(stats(5));
  ASSERT_EQ(refused->error(), ErrorCode::busy);
  EXPECT_EQ(std::get<ErrorReply>(refused->decoded.body).problem.sentence,
            "This connection has named as many sessions that are not its own as "
            "unknown-sessions-burst (4) allows; wait a second, or send Hello without "
            "resume_session to open a session.");
  EXPECT_EQ(bob.ask(stats(session))->error(), ErrorCode::busy) << "also if the guess is right";
  EXPECT_EQ(bob.ask(resume(session))->error(), ErrorCode::busy);
  EXPECT_EQ(bob.ask(stats(own))->error(), ErrorCode::none) << "its own session goes on";
  EXPECT_EQ(bob.ask(resume(0))->error(), ErrorCode::none);
  EXPECT_EQ(alice.ask(stats(session))->error(), ErrorCode::none);
  EXPECT_EQ(server.stat("starling_session_guesses_refused_total"), 3);
}

}  // namespace
}  // namespace starling::stream
