// SPDX-License-Identifier: Apache-2.0
// Tests whose request the HTTP server takes a request for, if a proxy may be in front: the fields
// Forwarded and X-Forwarded-For, the PROXY protocol, and fields that proxies add without trust.
#include "starling/stream/sockets/trusted_proxies.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;
using namespace std::string_literals;
using ::testing::EndsWith;
using ::testing::IsEmpty;

TEST(TrustedProxies, AreNoneOrNumericAddresses) {
  EXPECT_FALSE(TrustedProxies("none").has("127.0.0.1"));
  const TrustedProxies two("127.0.0.1, 2001:db8::1");
  EXPECT_TRUE(two.has("127.0.0.1"));
  EXPECT_TRUE(two.has("::ffff:127.0.0.1"));
  EXPECT_TRUE(two.has("2001:db8::1"));
  EXPECT_FALSE(two.has("127.0.0.2"));
  for (const char* wrong : {"", "localhost", "127.0.0.1,", "none,127.0.0.1", "10.0.0.0/8"})
    EXPECT_THROW(TrustedProxies{wrong}, std::invalid_argument) << wrong;
}

TEST(TrustedProxies, TheClientIsTheLastAddressThatIsNoProxys) {
  const TrustedProxies proxies("10.0.0.1,10.0.0.2");
  const auto client = [&](std::string_view forwarded, std::string_view x_forwarded_for) {
    return proxies.client_of(forwarded, x_forwarded_for).value_or("-");
  };
  EXPECT_EQ(client("", "192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client("", "127.0.0.1, 192.0.2.1"), "192.0.2.1") << "the client has sent the first one";
  EXPECT_EQ(client("", "127.0.0.1,192.0.2.1 , 10.0.0.2"), "192.0.2.1");
  EXPECT_EQ(client("", "192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(client("", "[2001:db8::7]:4711"), "2001:db8::7");
  EXPECT_EQ(client("", "2001:db8::7"), "2001:db8::7");
  EXPECT_EQ(client("", "::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client("for=127.0.0.1, FOR=192.0.2.1;proto=https;by=10.0.0.1", ""), "192.0.2.1");
  EXPECT_EQ(client(R"(proto=http;for="[2001:db8::7]:4711")", ""), "2001:db8::7");
  EXPECT_EQ(client(R"(for="a,for=1.2.3.4;", for=192.0.2.1)", ""), "192.0.2.1");
  EXPECT_EQ(client("for=192.0.2.1", "192.0.2.1"), "192.0.2.1");
}

TEST(TrustedProxies, AClientThatIsNotNamedOrNamedTwiceIsNotKnown) {
  const TrustedProxies proxies("10.0.0.1");
  const auto client = [&](std::string_view forwarded, std::string_view x_forwarded_for) {
    return proxies.client_of(forwarded, x_forwarded_for);
  };
  EXPECT_EQ(client("", ""), std::nullopt);
  EXPECT_EQ(client("", "10.0.0.1"), std::nullopt);
  EXPECT_EQ(client("", "192.0.2.1, unknown"), std::nullopt);
  EXPECT_EQ(client("", "192.0.2.1,"), std::nullopt);
  EXPECT_EQ(client("for=_hidden", ""), std::nullopt);
  EXPECT_EQ(client("for=127.0.0.1, proto=https", ""), std::nullopt);
  EXPECT_EQ(client("for=127.0.0.1", "192.0.2.1"), std::nullopt)
      << "the proxy wrote one of the fields, and its client the other";
}

TEST(TrustedProxies, FieldsOfProxiesAreKnown) {
  for (const char* name :
       {"Forwarded", "via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded", "X-Real-IP",
        "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "Fastly-Client-IP"})
    EXPECT_TRUE(is_forwarding_field(name)) << name;
  for (const char* name : {"Host", "Accept", "Authorization", "X-Requested-With", "Origin"})
    EXPECT_FALSE(is_forwarding_field(name)) << name;
}

/// Returns a header of the PROXY protocol for a client 192.0.2.`last`.
std::string proxy_header(char last, char command = 0x21, char family = 0x11) {
  return "\r\n\r\n\0\r\nQUIT\n"s + command + family + "\0\x0c"s + "\xc0\0\x02"s + last +
         "\x7f\0\0\x01\x12\x34\0\x50"s;
}

class Proxies : public testing::Test {
 protected:
  static HttpHandlers handlers() {
    return {.admit = [](const HttpHead& head) -> std::optional<HttpAnswer> {
              return HttpAnswer{.body = head.from.peer_address +
                                        (head.from.is_local ? " local" : "") +
                                        (head.is_forwarded ? " forwarded" : "")};
            },
            .handle = [](HttpRequest, HttpRespond) {},
            .refuse =
                [](unsigned status, std::string_view sentence) {
                  return HttpAnswer{.status = status, .body = std::string(sentence)};
                }};
  }
  /// Sends `before` and a request with `fields` to a server with these trusted proxies. Returns all
  /// that the server sends.
  std::string ask(const char* proxies, const std::string& fields, const std::string& before = "") {
    HttpOptions options{.proxies = std::make_shared<const TrustedProxies>(proxies)};
    options.timeout = std::chrono::milliseconds(2000);
    HttpServer server(loop, options, handlers());
    const std::string endpoint = server.endpoint();
    asio::ip::tcp::socket socket(loop);
    socket.connect(
        {asio::ip::make_address("127.0.0.1"),
         static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)))});
    asio::write(socket, asio::buffer(before + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
                                     fields + "\r\n"));
    std::string answer;
    asio::async_read(socket, asio::dynamic_buffer(answer),
                     [&](const boost::system::error_code&, std::size_t) { loop.stop(); });
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    return answer;
  }

  asio::io_context loop;
};

TEST_F(Proxies, WithoutAProxyARequestWithAFieldOfOneIsForwarded) {
  EXPECT_THAT(ask("none", ""), EndsWith("\r\n\r\n127.0.0.1 local"));
  EXPECT_THAT(ask("none", "X-Real-IP: 192.0.2.1\r\n"), EndsWith("127.0.0.1 local forwarded"));
  EXPECT_THAT(ask("10.0.0.1", "Via: 1.1 squid\r\n"), EndsWith("127.0.0.1 local forwarded"));
}

TEST_F(Proxies, OfATrustedProxyNamesTheClient) {
  EXPECT_THAT(ask("127.0.0.1", "X-Forwarded-For: 127.0.0.9\r\nX-Forwarded-For: 192.0.2.1\r\n"),
              EndsWith("\r\n\r\n192.0.2.1"));
  EXPECT_THAT(ask("127.0.0.1", "Forwarded: for=127.0.0.9\r\n"),
              EndsWith("\r\n\r\n127.0.0.9 local"));
}

TEST_F(Proxies, OfATrustedProxyThatNamesNoClientIsNotLocal) {
  EXPECT_THAT(ask("127.0.0.1", ""), EndsWith("\r\n\r\n127.0.0.1"));
  EXPECT_THAT(ask("127.0.0.1", "X-Real-IP: 127.0.0.1\r\n"), EndsWith("\r\n\r\n127.0.0.1"));
}

TEST_F(Proxies, TheProxyProtocolOfATrustedProxyNamesTheClient) {
  EXPECT_THAT(ask("127.0.0.1", "", proxy_header(7)), EndsWith("\r\n\r\n192.0.2.7"));
  EXPECT_THAT(ask("127.0.0.1", "X-Forwarded-For: 127.0.0.9\r\n", proxy_header(7)),
              EndsWith("\r\n\r\n192.0.2.7 forwarded"));
  EXPECT_THAT(ask("127.0.0.1,192.0.2.7", "X-Forwarded-For: 192.0.2.9\r\n", proxy_header(7)),
              EndsWith("\r\n\r\n192.0.2.9"));
  EXPECT_THAT(ask("127.0.0.1", "", proxy_header(7, 0x20)), EndsWith("\r\n\r\n127.0.0.1"))
      << "the proxy's own check";
}

TEST_F(Proxies, AWrongHeaderOfTheProxyProtocolCutsTheConnection) {
  EXPECT_THAT(ask("127.0.0.1", "", proxy_header(7, 0x11)), IsEmpty()) << "version 1";
  EXPECT_THAT(ask("127.0.0.1", "", proxy_header(7, 0x21, 0x21)), IsEmpty()) << "too short for IPv6";
  EXPECT_THAT(ask("127.0.0.1", "", proxy_header(7, 0x21, 0)), IsEmpty()) << "no address";
}

TEST_F(Proxies, TheProxyProtocolOfOthersCutsTheConnection) {
  for (const char* proxies : {"none", "10.0.0.1"}) {
    const std::string answer = ask(proxies, "", proxy_header(7));
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 400")) << answer;
  }
}

}  // namespace
}  // namespace starling::stream
