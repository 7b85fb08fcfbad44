// SPDX-License-Identifier: Apache-2.0
// Tests that the server closes a connection beyond the limit and still serves the earlier
// connections. The client of the closed connection connects again, and the server serves it as soon
// as there is room.
#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

zmq::socket_t subscribed(const RunningServer& server) {
  zmq::socket_t socket(server.context(), zmq::socket_type::sub);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::subscribe, "");
  socket.connect(server.endpoints().results);
  return socket;
}

bool hears_of_a_tick(protocol::Client& client, zmq::socket_t& subscriber, std::int64_t& tau_us) {
  return happens([&] {
    EXPECT_TRUE(client.advance_tick(++tau_us));
    zmq::message_t part;
    return subscriber.recv(part, zmq::recv_flags::dontwait).has_value();
  });
}

TEST(ConnectionLimit, ASubscriberBeyondItWaitsUntilAnotherLeaves) {
  ServerOptions options = manual_options();
  options.subscribers_max = 1;
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}));
  std::int64_t tau_us = 0;
  zmq::socket_t first = subscribed(server);
  ASSERT_TRUE(hears_of_a_tick(client, first, tau_us));
  zmq::socket_t second = subscribed(server);
  ASSERT_TRUE(happens([&] { return server.stat("starling_connections_refused_total") > 0; }));
  EXPECT_EQ(server.stat("starling_limit_used{name=\"subscribers-max\"}"), 1);
  EXPECT_TRUE(hears_of_a_tick(client, first, tau_us));
  zmq::message_t part;
  EXPECT_FALSE(second.recv(part, zmq::recv_flags::dontwait));
  first.close();
  EXPECT_TRUE(hears_of_a_tick(client, second, tau_us));
  EXPECT_EQ(server.stat("starling_limit_used{name=\"subscribers-max\"}"), 1);
}

TEST(ConnectionLimit, AClientBeyondItIsAnsweredOnceAnotherLeaves) {
  ServerOptions options = manual_options();
  options.connections_max = 1;
  RunningServer server(options);
  RawPeer second = [&] {
    auto first = server.client();
    RawPeer refused(server.context(), server.endpoints().commands);
    EXPECT_TRUE(happens([&] {
      for (const auto& [name, value] : first.get_stats().value())
        if (name == "starling_connections_refused_total") return value > 0;
      return false;
    }));
    return refused;
  }();
  EXPECT_NE(second.hello(), 0u);
}

}  // namespace
}  // namespace starling::stream
