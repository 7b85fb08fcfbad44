// SPDX-License-Identifier: Apache-2.0
// Tests that a listener survives the faults of a connection, and lets in many clients that come at
// once.
#include "starling/stream/zmtp/listener.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/file_limit.hpp"
#include "tests/stream/zmtp/echo_server.hpp"

namespace starling::stream {
namespace {

using zmtp::Connection;
using zmtp::Fault;

/// An endpoint that throws at a request of four bytes, such as "fail".
struct FailingTraffic final : zmtp::Traffic {
  bool take_room(Connection&, std::size_t) override { return true; }
  void return_room(Connection&, std::size_t) override {}
  void take_message(Connection&, zmtp::Message message, std::size_t) override {
    if (message.parts[0].bytes().size() == 4) throw std::runtime_error("a fault of the server");
    ++requests;
  }
  void take_subscription(Connection&, bool, std::string_view) override {}
  void established(Connection&) override {}
  void written(Connection&, const zmtp::WriteQueue::Written&) override {}
  void closed(Connection&, std::size_t, std::size_t) override { ++closes; }
  bool lacks_room() const override { return false; }
  bool holds_too_much() const override { return false; }

  std::atomic<int> requests{0};
  std::atomic<int> closes{0};
};

TEST(Listener, AnExceptionCutsTheConnectionThatItIsOfAndNoOther) {
  zmtp::IoThreads threads(1);
  FailingTraffic traffic;
  BoundEndpoint bound = bind_endpoint("tcp://127.0.0.1:*", Reach::machine);
  const std::string endpoint = bound.endpoint();
  zmtp::Listener listener(
      threads, {}, bound.release(),
      {.session = {.role = zmtp::Role::router, .message_bytes_max = 1000}, .connections_max = 10},
      traffic);
  listener.start();
  PlainConnection good(endpoint);
  PlainConnection bad(endpoint);
  for (PlainConnection* const peer : {&good, &bad})
    peer->send(plain_greeting() + plain_ready("DEALER"));
  bad.send(long_frame(0, "fail"));
  EXPECT_TRUE(bad.is_closed_within(30'000));
  EXPECT_TRUE(comes_true([&] { return listener.faults().of(Fault::internal) == 1; }));
  EXPECT_EQ(traffic.closes, 1);
  good.send(long_frame(0, "request"));
  EXPECT_TRUE(comes_true([&] { return traffic.requests == 1; }));
  listener.close(std::chrono::steady_clock::now());
}

TEST(Listener, AThousandHonestClientsWithALongWayComeInAtOnce) {
  raise_file_limit();
  EchoServer server;
  std::vector<PlainConnection> clients;
  for (int count = 0; count < 1000; ++count) clients.emplace_back(server.socket->endpoint());
  for (PlainConnection& client : clients)
    client.send(plain_greeting() + plain_ready("DEALER") + long_frame(0, "question"));
  EXPECT_TRUE(comes_true([&] { return server.requests == 1000; }));
  EXPECT_EQ(server.cuts(Fault::gave_way), 0u);
  EXPECT_EQ(server.socket->connection_count(), 1000u);
}

/// Returns whether the server answers a question of the peer.
bool answers(PlainConnection& peer, const std::string& question) {
  return peer.send(long_frame(0, question)) &&
         peer.receive(question.size() + 2).ends_with(question);
}

PlainConnection joined(const EchoServer& server, const char* from) {
  PlainConnection peer(server.socket->endpoint(), from);
  peer.send(plain_greeting() + plain_ready("DEALER"));
  peer.receive(64 + 2 + 28);  // the server's greeting and READY
  return peer;
}

TEST(Listener, AnAddressThatHasAllPlacesGivesTheNewestToAnother) {
  CommandSocketOptions options;
  options.connections_max = 8;
  EchoServer server(options);
  std::vector<PlainConnection> peers;
  for (int count = 0; count < 8; ++count) {
    peers.push_back(joined(server, "127.0.0.1"));
    ASSERT_TRUE(answers(peers.back(), "held"));
  }
  PlainConnection refused(server.socket->endpoint());
  EXPECT_TRUE(refused.is_closed_within(30'000)) << "no other address has more";
  PlainConnection other = joined(server, "127.0.0.2");
  EXPECT_TRUE(answers(other, "question"));
  EXPECT_TRUE(peers.back().is_closed_within(30'000));
  for (std::size_t index = 0; index + 1 < peers.size(); ++index)
    EXPECT_TRUE(answers(peers[index], "still here")) << index;
  EXPECT_TRUE(comes_true([&] { return server.cuts(Fault::gave_way) == 1; }));
  EXPECT_EQ(server.socket->gave_way().last.address, address_of("127.0.0.1"));
  EXPECT_EQ(server.socket->connection_count(), 8u);
  EXPECT_EQ(server.socket->refused_count(), 1u);
}

TEST(Listener, APrincipalHasAsManyConnectionsAsItsQuotaAllows) {
  const Keys keys;
  CommandSocketOptions options;
  options.authentication = &keys.server;
  options.connection_quota = [](zmtp::PrincipalId id) -> std::optional<std::uint64_t> {
    return id == zmtp::PrincipalId{7} ? 2 : 0;
  };
  EchoServer server(options);
  zmq::context_t context;
  std::vector<zmq::socket_t> sockets;
  for (int count = 0; count < 3; ++count) {
    zmq::socket_t& socket = sockets.emplace_back(context, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    keys.apply(socket);
    socket.connect(server.socket->endpoint());
    socket.send(zmq::str_buffer("question"), zmq::send_flags::none);
    if (count == 2) break;
    ASSERT_TRUE(comes_true([&] { return server.requests == count + 1; }));
  }
  ASSERT_TRUE(comes_true([&] { return server.socket->refused_count() > 0; }));
  EXPECT_EQ(server.requests, 2);
  sockets.erase(sockets.begin());
  EXPECT_TRUE(comes_true([&] { return server.requests == 3; })) << "its ZeroMQ connects again";
}

TEST(Listener, PeersThatSendNothingTakeNoPlaceFromAHandshakeUnderWay) {
  CommandSocketOptions options;
  options.handshakes_max = 16;  // four of each address
  EchoServer server(options);
  PlainConnection slow(server.socket->endpoint());
  slow.send(plain_greeting().substr(0, 10));
  PlainConnection away(server.socket->endpoint(), "127.0.0.2");
  PlainConnection third = joined(server, "127.0.0.1");  // of the thread that serves `slow`
  ASSERT_TRUE(answers(third, "has read slow's bytes"));
  std::vector<PlainConnection> silent;
  for (int count = 0; count < 40; ++count) silent.emplace_back(server.socket->endpoint());
  ASSERT_TRUE(comes_true([&] { return server.cuts(Fault::gave_way) == 37; }));
  EXPECT_EQ(server.socket->handshake_count(), 5u);
  for (PlainConnection* const peer : {&slow, &away})
    peer->send((peer == &slow ? plain_greeting().substr(10) : plain_greeting()) +
               plain_ready("DEALER") + long_frame(0, "question"));
  EXPECT_TRUE(comes_true([&] { return server.requests == 3; }));
}

TEST(Listener, ThePausedConnectionOfAPeerThatIsGoneIsNoticed) {
  CommandSocketOptions options;
  options.message_bytes_max = 4096;
  EchoServer server(options);
  server.takes_requests = false;
  PlainConnection peer(server.socket->endpoint());
  peer.send(plain_greeting() + plain_ready("DEALER"));
  for (int count = 0; count < 16; ++count) peer.send(long_frame(0, std::string(4000, 'x')));
  ASSERT_TRUE(comes_true([&] { return server.socket->connection_count() == 1; }));
  peer.reset();
  EXPECT_TRUE(comes_true([&] { return server.socket->connection_count() == 0; }));
}

TEST(Listener, RequestsOfAClosedConnectionAreTakenWhenReadingGoesOn) {
  EchoServer server;
  server.takes_requests = false;
  {
    PlainConnection peer(server.socket->endpoint());
    peer.send(plain_greeting() + plain_ready("DEALER") + long_frame(0, "last words"));
    ASSERT_TRUE(comes_true([&] { return server.socket->connection_count() == 1; }));
  }
  ASSERT_TRUE(comes_true([&] { return server.socket->connection_count() == 0; }));
  server.take_held();
  EXPECT_TRUE(comes_true([&] { return server.requests == 1; }));
  EXPECT_EQ(server.socket->reply_bytes(), 0u);
}

}  // namespace
}  // namespace starling::stream
