// SPDX-License-Identifier: Apache-2.0
// Tests RemoveStream: what subscribers see, that a resend gets the same answer, and that the places
// of a removed stream and of its queries are free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"
#include "starling/stream/state/subscriber_losses.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A SUB socket that decodes one message after another.
class Listener {
 public:
  Listener(RunningServer& server, const std::string& stream)
      : socket_(server.context(), zmq::socket_type::sub) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo,
                static_cast<int>(std::chrono::milliseconds(patience).count()));
    socket_.set(zmq::sockopt::subscribe, protocol::topic_of(stream));
    socket_.connect(server.endpoints().results);
  }

  protocol::TickHeader next() {
    std::vector<protocol::AlignedBytes> frames;
    zmq::message_t part;
    EXPECT_TRUE(socket_.recv(part)) << "no message came";
    while (part.more()) {
      EXPECT_TRUE(socket_.recv(part));
      frames.emplace_back(std::as_bytes(std::span(part.data<char>(), part.size())));
    }
    const auto decoded = protocol::decode_tick(frames);
    EXPECT_FALSE(decoded.problem);
    return decoded.header;
  }

 private:
  zmq::socket_t socket_;
};

class RemoveStreamTest : public testing::Test {
 protected:
  void put(const char* name, std::uint64_t queries = 1) {
    ASSERT_TRUE(client.put_stream({.name = name}));
    std::vector<protocol::QuerySpec> specs;
    for (std::uint64_t id = 1; id <= queries; ++id) specs.push_back(nearest_to(id, 2, 0, 0));
    ASSERT_TRUE(client.put_queries({name, specs}));
  }
  void tick() { ASSERT_TRUE(client.advance_tick(tau_us += 1000)); }
  bool listens(const char* name) {
    return happens([&] {
      for (const auto& stream : client.streams().value())
        if (stream.name == name && stream.subscription_count > 0) return true;
      return false;
    });
  }

  RunningServer server;
  protocol::Client client = server.client();
  std::int64_t tau_us = 0;
};

TEST_F(RemoveStreamTest, TheLastMessageHasTheRemovalsAndSaysThatItIsTheLast) {
  put("riders", 3);
  put("drivers");
  Listener listener(server, "riders");
  Listener other(server, "drivers");
  ASSERT_TRUE(listens("riders"));
  ASSERT_TRUE(listens("drivers"));
  tick();
  const auto first = listener.next();
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_EQ(first.list_count, 3u);
  EXPECT_FALSE(first.stream_removed);
  ASSERT_TRUE(client.remove_stream("riders"));
  tick();
  const auto last = listener.next();
  EXPECT_EQ(last.sequence, 2u);
  EXPECT_EQ(last.removal_count, 3u);
  EXPECT_TRUE(last.stream_removed);
  tick();
  EXPECT_EQ(other.next().sequence, 1u);
  EXPECT_EQ(other.next().sequence, 2u);
  EXPECT_EQ(other.next().sequence, 3u);
  EXPECT_EQ(server.stat("starling_streams"), 1);
  EXPECT_EQ(server.stat("starling_queries"), 1);
}

TEST_F(RemoveStreamTest, ARemovedStreamIsUnknownAtOnce) {
  put("riders");
  tick();
  ASSERT_TRUE(client.remove_stream("riders"));
  const auto code = [](const auto& result) {
    return result ? ErrorCode::none : result.problem().code;
  };
  EXPECT_EQ(code(client.remove_stream("riders")), ErrorCode::unknown_stream);
  EXPECT_EQ(code(client.queries("riders")), ErrorCode::unknown_stream);
  EXPECT_EQ(code(client.put_queries({"riders", {nearest_to(1, 2, 0, 0)}})),
            ErrorCode::unknown_stream);
  EXPECT_EQ(code(client.remove_queries({"riders", {}})), ErrorCode::unknown_stream);
  EXPECT_EQ(code(client.get_snapshot({.stream = "riders"}, [](const auto&) {})),
            ErrorCode::unknown_stream);
  EXPECT_EQ(code(client.report_received({.stream = "riders"})), ErrorCode::unknown_stream);
  EXPECT_THAT(client.streams().value(), IsEmpty());
  EXPECT_EQ(code(client.remove_stream("never put")), ErrorCode::unknown_stream);
}

TEST_F(RemoveStreamTest, AResendGetsTheSameReplyAndRemovesNothing) {
  RawPeer peer(server.context(), server.endpoints().commands);
  const std::uint64_t session = peer.hello();
  const auto ask = [&](std::uint64_t sequence, const protocol::RequestBody& body) {
    return peer.ask(encoded({sequence, session, sequence}, body))->error();
  };
  EXPECT_EQ(ask(1, protocol::PutStream{.name = "riders"}), ErrorCode::none);
  EXPECT_EQ(ask(2, protocol::RemoveStream{"riders"}), ErrorCode::none);
  EXPECT_EQ(ask(3, protocol::RemoveStream{"riders"}), ErrorCode::unknown_stream);
  EXPECT_EQ(ask(4, protocol::PutStream{.name = "riders"}), ErrorCode::none);
  EXPECT_EQ(ask(2, protocol::RemoveStream{"riders"}), ErrorCode::none);
  EXPECT_EQ(ask(3, protocol::RemoveStream{"riders"}), ErrorCode::unknown_stream);
  EXPECT_EQ(client.streams().value().size(), 1u);
}

TEST_F(RemoveStreamTest, AStreamThatIsPutAgainBeforeTheTickGoesOn) {
  put("riders", 3);
  Listener listener(server, "riders");
  ASSERT_TRUE(listens("riders"));
  tick();
  EXPECT_EQ(listener.next().sequence, 1u);
  ASSERT_TRUE(client.remove_stream("riders"));
  put("riders", 1);
  tick();
  const auto header = listener.next();
  EXPECT_EQ(header.sequence, 2u);
  EXPECT_EQ(header.removal_count, 2u);
  EXPECT_FALSE(header.stream_removed);
  EXPECT_EQ(client.queries("riders").value().size(), 1u);
}

TEST_F(RemoveStreamTest, TheNumbersOfANameNeverFall) {
  put("riders");
  put("drivers");
  for (int count = 0; count < 5; ++count) tick();
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  const auto catches_up = [&](std::uint64_t ticks) {
    return happens([&] {
      subscriber.poll(50);
      const auto& at = subscriber.state().held_at();
      return subscriber.state().is_live() && at && to_number(at->tick) >= ticks;
    });
  };
  ASSERT_TRUE(catches_up(5));
  ASSERT_TRUE(listens("riders"));
  ASSERT_TRUE(client.remove_stream("riders"));
  tick();
  ASSERT_TRUE(catches_up(6));
  EXPECT_THAT(subscriber.state().lists(), IsEmpty());
  ASSERT_TRUE(client.remove_stream("drivers"));
  tick();
  // Now "riders" may get the number that "drivers" had.
  put("riders", 4);
  const auto before = client.streams().value();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].sequence, 7u);
  tick();
  EXPECT_EQ(client.streams().value().at(0).sequence, 8u);
  ASSERT_TRUE(catches_up(8));
  EXPECT_EQ(subscriber.state().lists().size(), 4u);
}

TEST(RemoveStream, APlaceIsFreeAfterTheTick) {
  ServerOptions options = manual_options();
  options.processor.queries.streams_max = 2;
  options.sessions.streams_max = 2;
  RunningServer server(options);
  protocol::Client client = server.client();
  for (std::int64_t round = 1; round <= 10; ++round) {
    const std::string first = "first " + std::to_string(round);
    const std::string second = "second " + std::to_string(round);
    ASSERT_TRUE(client.put_stream({.name = first}));
    ASSERT_TRUE(client.put_stream({.name = second}));
    const auto refused = client.put_stream({.name = "third"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.problem().code, ErrorCode::too_many_streams);
    EXPECT_THAT(refused.problem().sentence, HasSubstr("RemoveStream"));
    ASSERT_TRUE(client.remove_stream(first));
    ASSERT_TRUE(client.remove_stream(second));
    ASSERT_TRUE(client.advance_tick(round));
  }
  EXPECT_EQ(server.stat("starling_streams"), 0);
  EXPECT_EQ(server.stat("starling_limit_used{name=\"session-streams-max\"}"), 0);
}

TEST(RemoveStream, AStreamWithMoreQueriesThanARequestMayHaveIsRefused) {
  ServerOptions options = manual_options();
  options.limits.rows_max = 2;
  RunningServer server(options);
  protocol::Client client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s"}));
  for (std::uint64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(client.put_queries({"s", {nearest_to(id, 1, 0, 0)}}));
  const auto refused = client.remove_stream("s");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::too_many_rows);
  EXPECT_EQ(refused.problem().limit, (protocol::ReachedLimit{"rows-max", 2}));
  EXPECT_EQ(client.queries("s").value().size(), 3u);
  const std::uint64_t one[] = {1};
  ASSERT_TRUE(client.remove_queries({"s", one}));
  EXPECT_TRUE(client.remove_stream("s"));
}

TEST(SubscriberLosses, LossesOfARemovedStreamAreForgotten) {
  SubscriberLosses losses;
  for (std::uint64_t session = 1; session <= 3; ++session) {
    EXPECT_EQ(losses.report(session, StreamId{7}, 5, 10), 5u);
    EXPECT_EQ(losses.report(session, StreamId{8}, 5, 10), 5u);
  }
  losses.drop_stream(StreamId{7});
  for (std::uint64_t session = 1; session <= 3; ++session) {
    EXPECT_EQ(losses.report(session, StreamId{7}, 5, 10), 5u);
    EXPECT_EQ(losses.report(session, StreamId{8}, 5, 10), 0u);
  }
}

}  // namespace
}  // namespace starling::stream
