// SPDX-License-Identifier: Apache-2.0
// Sends frames that an attacker would send. The server closes the socket with the code that
// protocol/README.md names, counts it, and still serves others.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/stream/support/socket_client.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using ::testing::StartsWith;

constexpr const char* broken_rules = "starling_http_socket_broken_rules_total";
const protocol::View everything_shown{.rectangle = {-10, -10, 1000, 1000}};

/// Returns a frame of a client. Its mask is zero, so its payload is sent unchanged.
std::string masked(int first_byte, const std::string& payload) {
  std::string frame{static_cast<char>(first_byte)};
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xFF);
  }
  return frame + std::string(4, '\0') + payload;
}

class HostileSockets : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.http_sockets.message_bytes_max = 4096;
    options.http_sockets.message_us = 300'000;
    options.http_sockets.close_us = 300'000;
    options.http_sockets.idle_us = 2'000'000;
    return options;
  }
  void SetUp() override { ASSERT_EQ(socket.connect(), 101u); }
  void TearDown() override {
    SocketClient other_socket(server.endpoints().http);
    ASSERT_EQ(other_socket.connect(), 101u);
    const auto reply = other_socket.reply(other_socket.ask(everything_shown));
    EXPECT_EQ(identifier_of(reply), "STRP");
  }

  RunningServer server{options()};
  SocketClient socket{server.endpoints().http};
};

TEST_F(HostileSockets, TextIsRefused) {
  socket.send_text("hello");
  EXPECT_EQ(socket.read_to_end(), 1003u);
  EXPECT_EQ(server.stat(broken_rules), 1);
}

TEST_F(HostileSockets, TextThatIsNotUtf8IsRefused) {
  socket.send_raw(masked(0x81, "\xC3\x28\xFF"));
  EXPECT_THAT(socket.read_to_end(), testing::AnyOf(1003u, 1007u));
  EXPECT_EQ(server.stat(broken_rules), 1);
}

TEST_F(HostileSockets, FramesWithoutAMaskAreRefused) {
  socket.send_raw(std::string("\x82\x03") + "abc");
  EXPECT_EQ(socket.read_to_end(), 1002u);
  EXPECT_EQ(server.stat(broken_rules), 1);
}

TEST_F(HostileSockets, LongMessagesAreRefused) {
  socket.send_raw(masked(0x82, std::string(5000, 'x')));
  EXPECT_EQ(socket.read_to_end(), 1009u);
  ASSERT_EQ(socket.connect(), 101u);
  std::string fragments;
  for (int i = 0; i < 5; ++i) fragments += masked(i == 0 ? 0x02 : 0x00, std::string(1000, 'x'));
  socket.send_raw(fragments);
  EXPECT_EQ(socket.read_to_end(), 1009u) << "in fragments";
  EXPECT_EQ(server.stat(broken_rules), 2);
}

TEST_F(HostileSockets, MessagesWithoutEndAreRefused) {
  socket.send_raw(masked(0x02, "x"));
  EXPECT_EQ(socket.read_to_end(), 1008u);
  ASSERT_EQ(socket.connect(), 101u);
  std::string fragments = masked(0x02, "x");
  for (int i = 0; i < 1000; ++i) fragments += masked(0x00, "");
  socket.send_raw(fragments);
  EXPECT_EQ(socket.read_to_end(), 1008u) << "empty fragments";
  EXPECT_EQ(server.stat(broken_rules), 2);
}

TEST_F(HostileSockets, EmptyFragmentsBeforeAMessageTakeNoMemory) {
  std::string fragments = masked(0x02, "");
  for (int i = 0; i < 10'000; ++i) fragments += masked(0x00, "");
  socket.send_raw(fragments + masked(0x80, "a message that is none"));
  EXPECT_EQ(identifier_of(socket.receive()), "STRP");
}

TEST_F(HostileSockets, PingFloodsAreRefused) {
  std::string pings;
  for (int i = 0; i < 10'000; ++i) pings += masked(0x89, "ping");
  socket.send_raw(pings);
  EXPECT_THAT(socket.read_to_end(), testing::AnyOf(1008u, 0u));  // 0: reset with pings unread
  EXPECT_EQ(server.stat(broken_rules), 1);
}

TEST_F(HostileSockets, ForeignPagesAreRefused) {
  SocketClient foreign(
      SocketClient::Options{.endpoint = server.endpoints().http, .origin = "https://evil.example"});
  EXPECT_EQ(foreign.connect(), 403u);
  SocketClient renamed(
      SocketClient::Options{.endpoint = server.endpoints().http, .host = "evil.example"});
  EXPECT_EQ(renamed.connect(), 421u);
  SocketClient own(
      {.endpoint = server.endpoints().http, .origin = "http://" + server.endpoints().http});
  EXPECT_EQ(own.connect(), 101u);
}

TEST_F(HostileSockets, BadMessagesGetAnErrorAndTheSocketStaysOpen) {
  test::Random random(1);
  const protocol::Frame good = protocol::encode_socket_request(7, everything_shown);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    for (std::uint64_t count = 1 + random.below(4); count > 0; --count)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    if (random.chance(0.2)) bytes.resize(random.below(bytes.size()) + 1);
    socket.send(bytes);
    if (i % 100 == 0) {
      ASSERT_FALSE(socket.receive().empty());
    }
  }
  const std::uint64_t last = socket.ask(everything_shown);
  EXPECT_FALSE(socket.reply(last).empty());
}

TEST_F(HostileSockets, HalfOpenUpgradesLeaveRoomForOthers) {
  boost::asio::io_context loop;
  const std::string& endpoint = server.endpoints().http;
  const std::size_t colon = endpoint.rfind(':');
  const boost::asio::ip::tcp::endpoint address(
      boost::asio::ip::make_address(endpoint.substr(0, colon)),
      static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  std::vector<std::unique_ptr<boost::asio::ip::tcp::socket>> half_open;
  for (int i = 0; i < 1000; ++i) {
    boost::system::error_code ignored;
    auto& opened = half_open.emplace_back(std::make_unique<boost::asio::ip::tcp::socket>(loop));
    opened->connect(address, ignored);
    boost::asio::write(*opened,
                       boost::asio::buffer(std::string("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\n"
                                                       "Upgrade: websocket\r\n")),
                       ignored);
  }
  EXPECT_THAT(http_get(endpoint, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(server.stat("starling_limit_used{name=\"http-connections-max\"}"), 64);
  EXPECT_LE(server.stat("starling_limit_used{name=\"http-views-max\"}"), 1);
}

TEST_F(HostileSockets, SilentClientsAreClosed) {
  // The client reads nothing, so it does not answer the server's ping either.
  EXPECT_TRUE(happens([&] { return server.stat("starling_http_sockets_stalled_total") == 1; }));
}

}  // namespace
}  // namespace starling::stream
