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
