// SPDX-License-Identifier: Apache-2.0
// Tests that the HTTP server closes connections beyond the limit, and connections of clients that
// send or read too slowly; and that a handler that does not answer is answered for.
#include <chrono>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;

/// Returns handlers that are never called, because the clients of these tests send no request.
HttpHandlers silent_handlers() {
  return {.admit = [](const HttpHead&) { return std::nullopt; },
          .handle = [](HttpRequest, HttpRespond) {},
          .refuse =
              [](unsigned status, std::string_view sentence) {
                return HttpAnswer{.status = status, .body = std::string(sentence)};
              }};
}

class HttpLimits : public testing::Test {
 protected:
  asio::ip::tcp::socket connect(const HttpServer& server) {
    const std::string endpoint = server.endpoint();
    const auto port =
        static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    asio::ip::tcp::socket socket(loop);
    socket.connect({asio::ip::make_address("127.0.0.1"), port});
    return socket;
  }

  /// Runs the loop until the server has closed the connection.
  bool is_closed_by_server(asio::ip::tcp::socket& socket) {
    bool is_closed = false;
    char byte = 0;
    socket.async_read_some(asio::buffer(&byte, 1),
                           [&](const boost::system::error_code& error, std::size_t) {
                             is_closed = static_cast<bool>(error);
                             loop.stop();
                           });
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    return is_closed;
  }

  /// Sends `text` and returns what the server sends until it closes the connection.
  std::string exchange(const HttpServer& server, std::string_view text) {
    auto socket = connect(server);
    asio::write(socket, asio::buffer(text));
    std::string answer;
    asio::async_read(socket, asio::dynamic_buffer(answer),
                     [&](const boost::system::error_code&, std::size_t) { loop.stop(); });
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    return answer;
  }

  static constexpr HttpOptions hurried() {
    HttpOptions options;
    options.timeout = std::chrono::milliseconds(20);
    return options;
  }

  asio::io_context loop;
};

TEST_F(HttpLimits, AConnectionBeyondTheLimitIsClosed) {
  HttpServer server(loop, {.connections_max = 1}, silent_handlers());
  auto first = connect(server);
  auto second = connect(server);
  EXPECT_TRUE(is_closed_by_server(second));
}

TEST_F(HttpLimits, AConnectionThatSaysNothingIsClosedInTime) {
  HttpServer server(loop, {.timeout = std::chrono::milliseconds(20)}, silent_handlers());
  auto silent = connect(server);
  EXPECT_TRUE(is_closed_by_server(silent));
}

TEST_F(HttpLimits, AHeadThatDoesNotEndIsClosedInTime) {
  HttpServer server(loop, hurried(), silent_handlers());
  EXPECT_EQ(exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nSlow:"), "");
  EXPECT_EQ(server.connection_count(), 0u);
}

TEST_F(HttpLimits, ABodyThatDoesNotEndIsClosedInTime) {
  HttpServer server(loop, hurried(), silent_handlers());
  EXPECT_EQ(exchange(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow"), "");
  EXPECT_EQ(
      exchange(server, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab"),
      "");
  EXPECT_EQ(server.connection_count(), 0u);
}

TEST_F(HttpLimits, ARequestThatNoHandlerAnswersIsRefusedInTime) {
  HttpRespond late;
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [&](HttpRequest, HttpRespond respond) { late = std::move(respond); };
  HttpServer server(loop, hurried(), handlers);
  const std::string answer =
      exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
  EXPECT_NE(answer.find("was not ready in time"), std::string::npos);
  late({.body = "too late"});  // has no effect
}

TEST_F(HttpLimits, AClientThatDoesNotReadIsClosedInTime) {
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [](HttpRequest, const HttpRespond& respond) {
    respond({.body = std::string(std::size_t{64} << 20, 'x')});
  };
  HttpServer server(loop, hurried(), handlers);
  auto socket = connect(server);
  asio::write(socket, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool was_open = false;
  while (std::chrono::steady_clock::now() < until &&
         !(was_open && server.connection_count() == 0)) {
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(100));
    was_open = was_open || server.connection_count() == 1;
  }
  EXPECT_TRUE(was_open);
  EXPECT_EQ(server.connection_count(), 0u);
}

}  // namespace
}  // namespace starling::stream
