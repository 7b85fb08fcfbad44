// SPDX-License-Identifier: Apache-2.0
// Sends frames that no client should send. The server must answer each frame with an Error, or drop
// and count it. It must keep running, and its lists must stay exact.
#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;

class HostileTest : public testing::Test {
 protected:
  HostileTest() {
    fixes.add(7, 10, 3, 4);
    fixes.add(8, 10, 0, 1);
  }

  std::string update_frame(std::uint64_t sequence) const {
    return encoded({.request_id = sequence, .session = session, .sequence = sequence},
                   fixes.batch());
  }

  /// Expects that the server has the two objects of `fixes` and no object of a hostile frame.
  void expect_exact() {
    auto client = server.client();
    ASSERT_TRUE(client.update(fixes.batch()));
    const std::int64_t tau_us = ++last_tau_us;
    const auto done = client.advance_tick(tau_us).value();
    EXPECT_EQ(done.object_count, 2u);
    const auto answers = client.get_neighbors({{nearest_to(0, 10, 0, 0)}}).value();
    const std::vector<protocol::HeldNeighbor> expected{{ObjectId{8}, 1.0}, {ObjectId{7}, 5.0}};
    EXPECT_EQ(answers.lists[0].neighbors, expected);
  }

  RunningServer server;
  RawPeer peer{server.context(), server.endpoints().commands};
  std::uint64_t session = peer.hello();
  Fixes fixes;
  std::int64_t last_tau_us = 1000;
};

TEST_F(HostileTest, NoiseIsAnsweredAsMalformed) {
  for (const std::string& noise : {std::string(), std::string("x"), std::string(1000, '\xff')}) {
    const auto reply = peer.ask(noise);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error(), ErrorCode::malformed);
  }
  EXPECT_EQ(server.stat("starling_refused_requests_total{code=\"malformed\"}"), 3);
  expect_exact();
}

TEST_F(HostileTest, TooManyPartsAreAnsweredAsMalformed) {
  peer.send_parts({"a", "b", "c"});
  const auto reply = peer.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), ErrorCode::malformed);
  expect_exact();
}

TEST_F(HostileTest, MorePartsThanAnyRequestHasCutTheirConnectionAndHarmNobody) {
  peer.send_parts({"a", "b", "c", "d", "e", "f"});
  EXPECT_TRUE(happens(
      [&] { return server.stat("starling_connections_cut_total{reason=\"parts\"}") == 1; }));
  auto client = server.client();
  ASSERT_TRUE(client.update(fixes.batch()));
  EXPECT_EQ(client.advance_tick(1).value().object_count, 2u);
}

TEST_F(HostileTest, EveryTruncationOfAnUpdateIsRefused) {
  const std::string frame = update_frame(1);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto reply = peer.ask(frame.substr(0, size));
    ASSERT_TRUE(reply) << size;
    EXPECT_NE(reply->error(), ErrorCode::none) << "cut to " << size << " bytes";
  }
  expect_exact();
}

// A frame with a flipped bit may be another valid request, for example one with another name. So
// the test accepts any reply. But the server must answer each frame and keep running.
TEST_F(HostileTest, AnyFlippedBitIsAnsweredAndTheServerStaysUp) {
  const std::string frame = encoded({.request_id = 1, .session = session, .sequence = 5},
                                    protocol::PutStream{.name = "riders", .with = {}});
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(peer.ask(flipped)) << "bit " << bit;
  }
  expect_exact();
}

TEST_F(HostileTest, RandomDamageNeverStopsTheServer) {
  for (const std::uint64_t seed : test::seeds(3)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (int round = 0; round < 200; ++round) {
      // The sequence number 0 is never the next one, so the server never applies a damaged frame.
      std::string frame = update_frame(0);
      for (std::uint64_t count = 1 + random.below(8); count > 0; --count)
        frame[random.below(frame.size())] = static_cast<char>(random.below(256));
      ASSERT_TRUE(peer.ask(frame));
    }
  }
  EXPECT_EQ(server.client().advance_tick(++last_tau_us).value().object_count, 0u);
  expect_exact();
}

TEST_F(HostileTest, AnotherVersionIsToldWhichOneIsSpoken) {
  std::string frame = update_frame(1);
  // The protocol version is a 16-bit field with the value protocol_version. The loop below finds
  // this field: it changes each place that has this value, one at a time, until the server refuses
  // the version.
  bool is_refused_as_version = false;
  for (std::size_t at = 0; at + 1 < frame.size() && !is_refused_as_version; at += 2) {
    std::string changed = frame;
    if (changed[at] != 1 || changed[at + 1] != 0) continue;
    changed[at] = 9;
    const auto reply = peer.ask(changed);
    ASSERT_TRUE(reply);
    is_refused_as_version = reply->error() == ErrorCode::wrong_version;
  }
  EXPECT_TRUE(is_refused_as_version);
}

TEST_F(HostileTest, AFrameBeyondTheLimitLosesItsConnectionAndNothingElse) {
  ServerOptions options = manual_options();
  options.limits.frame_bytes_max = 64 << 10;
  RunningServer small(options);
  RawPeer hostile(small.context(), small.endpoints().commands);
  hostile.send(std::string(1 << 20, 'x'));
  auto client = small.client();
  ASSERT_TRUE(client.update(fixes.batch()));
  EXPECT_EQ(client.advance_tick(1).value().object_count, 2u);
}

TEST_F(HostileTest, AResendIsAnsweredAgainAndNotAppliedTwice) {
  const auto first = peer.ask(update_frame(1));
  ASSERT_TRUE(first);
  const auto again = peer.ask(update_frame(1));
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<protocol::BatchReply>(first->decoded.body),
            std::get<protocol::BatchReply>(again->decoded.body));
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 2);
}

TEST_F(HostileTest, AResendOverANewConnectionIsNotAppliedTwice) {
  ASSERT_TRUE(peer.ask(update_frame(1)));
  RawPeer other(server.context(), server.endpoints().commands);
  ASSERT_TRUE(other.ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = session})));
  const auto again = other.ask(update_frame(1));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->error(), ErrorCode::none);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 2);
}

TEST_F(HostileTest, AGapIsRefusedAndNothingOfItApplied) {
  const auto reply = peer.ask(update_frame(2));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), ErrorCode::sequence_gap);
  EXPECT_EQ(std::get<protocol::ErrorReply>(reply->decoded.body).sequence_expected, 1u);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 0);
}

TEST_F(HostileTest, AnUnknownSessionIsRefused) {
  session += 1000;
  const auto reply = peer.ask(update_frame(1));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), ErrorCode::unknown_session);
}

TEST_F(HostileTest, BatchesBeyondCreditAreRefusedAndNotApplied) {
  ServerOptions options = manual_options();
  options.limits.rows_max = 2;
  options.limits.credit_rows = 2;
  RunningServer tight(options);
  RawPeer flood(tight.context(), tight.endpoints().commands);
  session = flood.hello();
  // Sends batches without waiting for replies. The speed of the server decides which batches it
  // refuses. In any case it must answer each batch and must not apply a part of a batch.
  constexpr std::uint64_t batches = 500;
  for (std::uint64_t sequence = 1; sequence <= batches; ++sequence)
    flood.send(update_frame(sequence));
  std::uint64_t accepted_rows = 0;
  for (std::uint64_t answer = 0; answer < batches; ++answer) {
    const auto reply = flood.receive();
    ASSERT_TRUE(reply);
    if (const auto* batch = std::get_if<protocol::BatchReply>(&reply->decoded.body))
      accepted_rows += batch->accepted;
    else
      EXPECT_TRUE(reply->error() == ErrorCode::out_of_credit ||
                  reply->error() == ErrorCode::sequence_gap);
  }
  EXPECT_EQ(tight.stat("starling_rows_total{outcome=\"accepted\"}"),
            static_cast<double>(accepted_rows));
}

TEST_F(HostileTest, AFloodIsReadAsFastAsItIsDecodedAndAllOfItAnswered) {
  ServerOptions options = manual_options();
  options.decode_requests_max = 2;
  RunningServer narrow(options);
  RawPeer flood(narrow.context(), narrow.endpoints().commands);
  session = flood.hello();
  constexpr std::uint64_t batches = 500;
  for (std::uint64_t sequence = 1; sequence <= batches; ++sequence)
    flood.send(update_frame(sequence));
  for (std::uint64_t sequence = 1; sequence <= batches; ++sequence) {
    const auto reply = flood.receive();
    ASSERT_TRUE(reply) << "the server stopped reading";
    EXPECT_EQ(reply->decoded.head.sequence, sequence);
    EXPECT_EQ(reply->error(), ErrorCode::none);
  }
}

TEST_F(HostileTest, AFloodOfHellosKeepsNobodyOut) {
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 4;
  RunningServer small(options);
  RawPeer flood(small.context(), small.endpoints().commands);
  for (int hello = 0; hello < 100; ++hello) flood.hello();
  auto client = small.client();
  ASSERT_TRUE(client.update(fixes.batch()));
  for (int hello = 0; hello < 100; ++hello) flood.hello();
  const std::uint64_t session_before = client.server().session;
  EXPECT_EQ(client.advance_tick(1).value().object_count, 2u);
  EXPECT_EQ(client.server().session, session_before) << "a session in use is kept";
  EXPECT_LE(small.stat("starling_sessions"), 4);
}

TEST_F(HostileTest, WhenAllSessionsAreInUseAHelloIsToldWhatToDo) {
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 1;
  RunningServer small(options);
  auto client = small.client();
  ASSERT_TRUE(client.update(fixes.batch()));
  RawPeer late(small.context(), small.endpoints().commands);
  const auto reply = late.ask(encoded({}, protocol::Hello{.client = "late", .key = ""}));
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->error(), ErrorCode::too_many_sessions);
  const auto& sentence = std::get<protocol::ErrorReply>(reply->decoded.body).problem.sentence;
  EXPECT_NE(sentence.find("silent for 30 s"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("--sessions-max"), std::string::npos) << sentence;
}

TEST_F(HostileTest, AReqSocketIsAnsweredToo) {
  zmq::socket_t req(server.context(), zmq::socket_type::req);
  req.set(zmq::sockopt::linger, 0);
  req.set(zmq::sockopt::rcvtimeo, static_cast<int>(patience.count() * 1000));
  req.connect(server.endpoints().commands);
  req.send(zmq::buffer(encoded({.request_id = 5}, protocol::Hello{.client = "req", .key = ""})),
           zmq::send_flags::none);
  zmq::message_t reply;
  ASSERT_TRUE(req.recv(reply));
  EXPECT_FALSE(reply.more());
}

}  // namespace
}  // namespace starling::stream
