// SPDX-License-Identifier: Apache-2.0
// Tests the server's ZMTP with the clients of libzmq: every socket type, with and without
// encryption, over TCP and local sockets.
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/results_socket.hpp"
#include "tests/stream/zmtp/echo_server.hpp"

namespace starling::stream {
namespace {

constexpr int patience_ms = 30'000;

struct Way {
  bool is_encrypted = false;
  bool is_local = false;
};

class Clients : public testing::TestWithParam<Way> {
 protected:
  std::string endpoint(const std::string& name) const {
    if (!GetParam().is_local) return "tcp://127.0.0.1:*";
    return "ipc://" + testing::TempDir() + "starling-" + name + std::to_string(::getpid());
  }
  const zmtp::Authentication* authentication() const {
    return GetParam().is_encrypted ? &keys.server : nullptr;
  }
  zmq::socket_t client(zmq::socket_type type, const std::string& to) {
    zmq::socket_t socket(context, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, patience_ms);
    socket.set(zmq::sockopt::routing_id, "chosen by the peer");
    if (GetParam().is_encrypted) keys.apply(socket);
    socket.connect(to);
    return socket;
  }

  Keys keys;
  zmq::context_t context;
};

TEST_P(Clients, EachTypeThatAsksGetsItsOwnBytesBackAtEverySize) {
  EchoServer server({.endpoint = endpoint("sizes"), .authentication = authentication()});
  for (const auto type : {zmq::socket_type::dealer, zmq::socket_type::req}) {
    zmq::socket_t socket = client(type, server.socket->endpoint());
    for (const std::size_t size : {0u, 1u, 222u, 255u, 256u, 16'384u, 1u << 20, 16u << 20}) {
      std::string bytes(size, 'x');
      for (std::size_t at = 0; at < size; at += 97) bytes[at] = static_cast<char>(at / 97);
      socket.send(zmq::buffer(bytes), zmq::send_flags::none);
      zmq::message_t reply;
      ASSERT_TRUE(socket.recv(reply)) << size << " bytes";
      EXPECT_FALSE(reply.more());
      ASSERT_TRUE(reply.to_string_view() == bytes) << size << " bytes";
    }
  }
  EXPECT_EQ(server.principal, zmtp::PrincipalId{GetParam().is_encrypted ? 7u : 0u});
}

TEST_P(Clients, ARouterIsAnsweredUnderTheNameThatItGaveTheServer) {
  EchoServer server({.endpoint = endpoint("router"), .authentication = authentication()});
  zmq::socket_t socket(context, zmq::socket_type::router);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, patience_ms);
  socket.set(zmq::sockopt::connect_routing_id, "server");
  socket.set(zmq::sockopt::router_mandatory, true);
  if (GetParam().is_encrypted) keys.apply(socket);
  socket.connect(server.socket->endpoint());
  ASSERT_TRUE(comes_true([&] {
    try {
      socket.send(zmq::str_buffer("server"), zmq::send_flags::sndmore);
      return true;
    } catch (const zmq::error_t&) {
      return false;
    }
  }));
  socket.send(zmq::str_buffer("body"), zmq::send_flags::none);
  zmq::message_t part;
  ASSERT_TRUE(socket.recv(part));
  EXPECT_EQ(part.to_string(), "server");
  ASSERT_TRUE(socket.recv(part));
  EXPECT_EQ(part.to_string(), "body");
}

TEST_P(Clients, AThousandRequestsUnderWayAreAnsweredInTheirOrder) {
  EchoServer server({.endpoint = endpoint("order"), .authentication = authentication()});
  zmq::socket_t socket = client(zmq::socket_type::dealer, server.socket->endpoint());
  for (int number = 0; number < 1000; ++number)
    socket.send(zmq::buffer(std::to_string(number)), zmq::send_flags::none);
  for (int number = 0; number < 1000; ++number) {
    zmq::message_t reply;
    ASSERT_TRUE(socket.recv(reply));
    ASSERT_EQ(reply.to_string(), std::to_string(number));
  }
}

TEST_P(Clients, AHeartbeatOfTheClientIsAnswered) {
  EchoServer server({.endpoint = endpoint("heart"), .authentication = authentication()});
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::heartbeat_ivl, 20);
  socket.set(zmq::sockopt::heartbeat_timeout, 1000);
  zmq::socket_t events(context, zmq::socket_type::pair);
  ASSERT_EQ(zmq_socket_monitor(socket.handle(), "inproc://heart", ZMQ_EVENT_DISCONNECTED), 0);
  events.connect("inproc://heart");
  events.set(zmq::sockopt::rcvtimeo, 2500);
  if (GetParam().is_encrypted) keys.apply(socket);
  socket.connect(server.socket->endpoint());
  zmq::message_t event;
  // A machine that stands still for a second may end one connection, but not several in a row.
  constexpr int parts_max = 4;  // two for each connection that ended
  for (int parts = 0; events.recv(event); ++parts)
    ASSERT_LT(parts, parts_max) << "the client has missed its answers";
  EXPECT_EQ(server.socket->connection_count(), 1u);
  EXPECT_EQ(server.requests, 0);
}

protocol::TickMessage tick(const std::string& stream, int number,
                           const std::vector<std::size_t>& sizes) {
  protocol::TickMessage message{.topic = protocol::topic_of(stream)};
  const std::string text = std::to_string(number);
  message.header = frame_of(std::as_bytes(std::span(text.data(), text.size())));
  for (const std::size_t size : sizes) {
    const std::string chunk(size, static_cast<char>('a' + number % 26));
    message.chunks.push_back(frame_of(std::as_bytes(std::span(chunk.data(), chunk.size()))));
  }
  return message;
}

TEST_P(Clients, SubscribersGetWholeTicksOfTheirTopicsAndNoOther) {
  zmtp::IoThreads threads(2);
  ResultsSocket results(threads, {.endpoint = endpoint("results"),
                                  .subscriber_bytes_max = std::size_t{64} << 20,
                                  .linger_ms = 500,
                                  .io_threads = {0, 2},
                                  .authentication = authentication()});
  std::vector<zmq::socket_t> subscribers;
  for (int index = 0; index < 4; ++index) {
    const auto type = index % 2 == 0 ? zmq::socket_type::sub : zmq::socket_type::xsub;
    zmq::socket_t& socket = subscribers.emplace_back(client(type, results.endpoint()));
    if (type == zmq::socket_type::sub)
      socket.set(zmq::sockopt::subscribe, protocol::topic_of("riders"));
    else
      socket.send(zmq::buffer("\1" + protocol::topic_of("riders")), zmq::send_flags::none);
  }
  ASSERT_TRUE(
      comes_true([&] { return results.subscriber_count(protocol::topic_of("riders")) == 4; }));
  for (int number = 0; number < 30; ++number) {
    std::vector<std::size_t> sizes{0, 255, 256, 100'000};
    if (number == 7) sizes.push_back(std::size_t{4} << 20);
    std::vector<protocol::TickMessage> messages;
    messages.push_back(tick("rider", number, {1}));
    messages.push_back(tick("riders", number, sizes));
    results.send(std::move(messages));
    for (zmq::socket_t& socket : subscribers) {
      zmq::message_t part;
      ASSERT_TRUE(socket.recv(part));
      EXPECT_EQ(part.to_string(), protocol::topic_of("riders"));
      ASSERT_TRUE(socket.recv(part));
      ASSERT_EQ(part.to_string(), std::to_string(number));
      for (const std::size_t size : sizes) {
        ASSERT_TRUE(part.more());
        ASSERT_TRUE(socket.recv(part));
        ASSERT_EQ(part.to_string(), std::string(size, static_cast<char>('a' + number % 26)));
      }
      EXPECT_FALSE(part.more());
    }
  }
  subscribers[0].set(zmq::sockopt::unsubscribe, protocol::topic_of("riders"));
  subscribers[1].send(zmq::buffer(std::string(1, '\0') + protocol::topic_of("riders")),
                      zmq::send_flags::none);
  EXPECT_TRUE(comes_true([&] { return results.subscriber_count() == 2; }));
  subscribers.clear();
  EXPECT_TRUE(comes_true([&] { return results.subscriber_count() == 0; }));
  EXPECT_TRUE(comes_true([&] { return results.connection_count() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Ways, Clients,
                         testing::Values(Way{false, false}, Way{true, false}, Way{false, true},
                                         Way{true, true}),
                         [](const auto& way) {
                           return std::string(way.param.is_encrypted ? "curve" : "null") +
                                  (way.param.is_local ? "_ipc" : "_tcp");
                         });

TEST(Keys, AClientWithAnotherKeyIsRefusedAndCounted) {
  const Keys keys;
  Keys others;
  others.server = keys.server;
  EchoServer server({.authentication = &keys.server});
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  others.apply(socket);
  socket.connect(server.socket->endpoint());
  EXPECT_TRUE(comes_true([&] { return server.cuts(zmtp::Fault::key) > 0; }));
  EXPECT_EQ(server.socket->connection_count(), 0u);
}

TEST(Keys, AClientWithoutEncryptionIsRefusedAndCounted) {
  const Keys keys;
  EchoServer server({.authentication = &keys.server});
  PlainConnection peer(server.socket->endpoint());
  peer.send(plain_greeting() + plain_ready("DEALER"));
  EXPECT_TRUE(comes_true([&] { return server.cuts(zmtp::Fault::mechanism) == 1; }));
}

TEST(Keys, APrincipalThatIsCutLosesItsConnectionsAndNoOtherDoes) {
  const Keys keys;
  EchoServer server({.authentication = &keys.server});
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  keys.apply(socket);
  socket.connect(server.socket->endpoint());
  ASSERT_TRUE(comes_true([&] { return server.socket->connection_count() == 1; }));
  server.socket->cut([](zmtp::PrincipalId id) { return id == zmtp::PrincipalId{8}; });
  server.socket->cut([](zmtp::PrincipalId id) { return id == zmtp::PrincipalId{7}; });
  EXPECT_TRUE(comes_true([&] { return server.cuts(zmtp::Fault::revoked) > 0; }));
}

TEST(Keys, ASubscriptionThatIsForbiddenCutsItsConnectionBeforeAnyMessage) {
  zmtp::IoThreads threads(1);
  ResultsSocket results(threads, {.endpoint = "tcp://127.0.0.1:*",
                                  .subscriber_bytes_max = std::size_t{1} << 20,
                                  .may_subscribe = [](zmtp::PrincipalId, std::string_view topic) {
                                    return topic == "open";
                                  }});
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::sub);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::subscribe, "");
  socket.connect(results.endpoint());
  EXPECT_TRUE(comes_true([&] { return results.faults().of(zmtp::Fault::forbidden) > 0; }));
  EXPECT_EQ(results.join_count(), 0u);
}

TEST(LocalSockets, AStaleFileIsReplacedAndALiveServerIsNot) {
  const std::string path = testing::TempDir() + "starling-stale" + std::to_string(::getpid());
  {
    EchoServer first({.endpoint = "ipc://" + path});
    EXPECT_THROW(EchoServer({.endpoint = "ipc://" + path}), std::runtime_error);
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the file goes with the server";
}

}  // namespace
}  // namespace starling::stream
