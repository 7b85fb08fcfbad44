// SPDX-License-Identifier: Apache-2.0
// Sends the bytes of an attacker over plain sockets, without a WebSocket client between: frames
// that RFC 6455 does not allow, messages and handshakes without end. The server ends each
// connection with a code, and /metrics counts it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Tcp = boost::asio::ip::tcp;

constexpr const char* broken_rules_metric = "starling_http_socket_broken_rules_total";
constexpr const char* refused_metric = "starling_connections_refused_total";

std::string handshake_with(const std::string& fields) {
  return "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
         fields + "\r\n";
}

/// Returns a frame whose length has the shortest form. Its mask is zero, so its payload is sent
/// unchanged.
std::string frame_of(int first_byte, const std::string& payload) {
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

/// Returns the head of a frame with a length of 64 bits. `top_byte` is the length's first byte.
std::string long_frame(int top_byte) {
  return std::string("\x82\xFF", 2) + static_cast<char>(top_byte) + std::string(7, '\0') +
         std::string(4, '\0');
}

/// Returns the code of the close frame at the end of the server's bytes, or 0 if there is none.
unsigned close_code_of(const std::string& sent) {
  const std::size_t begin = sent.find("\r\n\r\n");
  if (begin == std::string::npos) return 0;
  std::size_t at = begin + 4;
  while (at + 4 <= sent.size()) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sent[at + i]); };
    if (byte(0) == 0x88) return static_cast<unsigned>(byte(2)) << 8 | byte(3);
    if (byte(1) >= 126) return 0;
    at += 2 + std::size_t{byte(1)};
  }
  return 0;
}

class RawFrames : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.http_sockets.message_bytes_max = 4096;
    options.http_sockets.message_us = 300'000;
    options.http_sockets.close_us = 100'000;
    options.http_sockets.idle_us = 2'000'000;
    return options;
  }

  std::string exchange(const std::string& bytes) {
    return http_exchange(server.endpoints().http, bytes);
  }
  /// Returns a counter of /metrics, or -1 if it is not there.
  double metric(const std::string& name) {
    const std::string page = "\n" + http_get(server.endpoints().http, "/metrics");
    const std::size_t at = page.find("\n" + name + " ");
    if (at == std::string::npos) return -1;
    return std::stod(page.substr(at + name.size() + 2));
  }
  std::unique_ptr<Tcp::socket> connect() {
    const std::string& endpoint = server.endpoints().http;
    const std::size_t colon = endpoint.rfind(':');
    auto socket = std::make_unique<Tcp::socket>(loop);
    boost::system::error_code ignored;
    socket->connect({boost::asio::ip::make_address(endpoint.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1)))},
                    ignored);
    return socket;
  }
  /// Returns false if the connection has ended.
  static bool write(Tcp::socket& socket, const std::string& bytes) {
    boost::system::error_code error;
    boost::asio::write(socket, boost::asio::buffer(bytes), error);
    return !error;
  }
  void TearDown() override {
    EXPECT_THAT(http_get(server.endpoints().http, "/healthz"), StartsWith("HTTP/1.1 200"));
  }

  RunningServer server{options()};
  boost::asio::io_context loop;
};

TEST_F(RawFrames, TheHandshakeIsThatOfTheRfc) {
  const std::string sent = exchange(handshake_with("") + frame_of(0x88, "\x03\xE8"));
  EXPECT_THAT(sent, StartsWith("HTTP/1.1 101"));
  EXPECT_THAT(sent, HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  EXPECT_EQ(close_code_of(sent), 1000u);
  EXPECT_EQ(metric(broken_rules_metric), 0);
}

TEST_F(RawFrames, EachFrameThatIsNotAllowedEndsTheSocketWithACodeAndIsCounted) {
  struct Case {
    std::string says;
    std::string frames;
    unsigned code = 1002;
  };
  const std::string rest(4, '\0');
  const std::vector<Case> cases{
      {"no mask", std::string("\x82\x03") + "abc"},
      {"text without a mask", std::string("\x81\x03") + "abc"},
      {"a bit of an extension", frame_of(0xC2, "abc")},
      {"an unknown kind of data", frame_of(0x83, "abc")},
      {"an unknown kind of control", frame_of(0x8B, "abc")},
      {"a continuation of nothing", frame_of(0x80, "abc")},
      {"a message within a message", frame_of(0x02, "abc") + frame_of(0x82, "abc")},
      {"a long ping", frame_of(0x89, std::string(126, 'x'))},
      {"a fragment of a ping", frame_of(0x09, "abc")},
      {"a close with half a code", frame_of(0x88, "\x03")},
      {"a close with a reserved code", frame_of(0x88, "\x03\xED")},
      {"a length with needless bytes", std::string("\x82\xFE\x00\x05", 4) + rest + "hello"},
      {"a length that is negative", long_frame(0x80), 1009},
      {"a length beyond all limits", long_frame(0x40), 1009},
      {"a message that is too long", frame_of(0x82, std::string(5000, 'x')), 1009},
      {"text", frame_of(0x81, "hello"), 1003},
      {"text that is not UTF-8", frame_of(0x81, "\xC3\x28\xFF"), 1007},
  };
  double expected = 0;
  for (const Case& each : cases) {
    SCOPED_TRACE(each.says);
    const std::string sent = exchange(handshake_with("") + each.frames);
    EXPECT_THAT(sent, StartsWith("HTTP/1.1 101"));
    EXPECT_EQ(close_code_of(sent), each.code);
    ++expected;
    EXPECT_TRUE(happens([&] { return metric(broken_rules_metric) == expected; }));
  }
}

TEST_F(RawFrames, FramesWithoutEndAreRefusedWhileTheyStillCome) {
  struct Case {
    std::string says;
    std::string first;
    std::string frame;
  };
  const std::vector<Case> cases{
      {"fragments of one byte", frame_of(0x02, "x"), frame_of(0x00, "")},
      {"empty fragments", frame_of(0x02, ""), frame_of(0x00, "")},
      {"pings", "", frame_of(0x89, "ping")},
      {"pongs", "", frame_of(0x8A, "")},
      {"pings in a message", frame_of(0x02, ""), frame_of(0x89, "") + frame_of(0x00, "")},
  };
  double expected = 0;
  for (const Case& each : cases) {
    SCOPED_TRACE(each.says);
    const auto socket = connect();
    ASSERT_TRUE(write(*socket, handshake_with("") + each.first));
    std::string frames;
    for (int i = 0; i < 100; ++i) frames += each.frame;
    EXPECT_TRUE(happens([&] { return !write(*socket, frames); })) << "the server ends it";
    EXPECT_EQ(metric(broken_rules_metric), ++expected);
  }
}

TEST_F(RawFrames, ForeignPagesAreRefusedAndCounted) {
  const std::string answers = "starling_http_answers_total{status=\"4xx\"}";
  const double before = std::max(0.0, metric(answers));
  for (const std::string origin : {"https://evil.example", "null", "http://localhost.evil.example"})
    EXPECT_THAT(exchange(handshake_with("Origin: " + origin + "\r\n") + "nonsense\r\n\r\n"),
                StartsWith("HTTP/1.1 403"))
        << origin;
  EXPECT_GE(metric(answers), before + 3);
  EXPECT_LE(metric("starling_limit_used{name=\"http-views-max\"}"), 0);
}

TEST_F(RawFrames, AThousandHalfOpenHandshakesTakeNoPlaceOfOthers) {
  std::vector<std::unique_ptr<Tcp::socket>> half_open;
  for (int i = 0; i < 1000; ++i) {
    half_open.push_back(connect());
    write(*half_open.back(), "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n");
  }
  EXPECT_THAT(http_get(server.endpoints().http, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(metric("starling_limit_used{name=\"http-connections-max\"}"), 64);
  EXPECT_EQ(metric("starling_limit_used{name=\"http-views-max\"}"), 0);
  EXPECT_LE(metric("starling_limit_used{name=\"handshakes-max\"}"), 1024);
}

TEST_F(RawFrames, AThousandSilentSocketsTakeOnlyTheirPlacesAndEnd) {
  std::vector<std::unique_ptr<Tcp::socket>> silent;
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(connect());
    write(*silent.back(), handshake_with(""));
  }
  EXPECT_TRUE(happens([&] { return metric("starling_http_answers_total{status=\"5xx\"}") >= 400; }))
      << "an address has a quarter of the places of handshakes; others of its connections give way";
  EXPECT_LE(metric("starling_limit_used{name=\"http-views-max\"}"), 16);
  EXPECT_TRUE(happens([&] { return metric("starling_http_sockets_stalled_total") == 16; }));
  EXPECT_TRUE(happens([&] { return metric("starling_limit_used{name=\"http-views-max\"}") == 0; }));
}

}  // namespace
}  // namespace starling::stream
