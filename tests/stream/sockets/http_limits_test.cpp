// SPDX-License-Identifier: Apache-2.0
// Tests that the HTTP server closes connections beyond the limit, and connections that are silent
// for too long.
#include <chrono>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;

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

  asio::io_context loop;
};

TEST_F(HttpLimits, AConnectionBeyondTheLimitIsClosed) {
  HttpServer server(loop, {.connections_max = 1}, [](std::string_view) { return HttpAnswer{}; });
  auto first = connect(server);
  auto second = connect(server);
  EXPECT_TRUE(is_closed_by_server(second));
}

TEST_F(HttpLimits, AConnectionThatSaysNothingIsClosedInTime) {
  HttpServer server(loop, {.timeout = std::chrono::milliseconds(20)},
                    [](std::string_view) { return HttpAnswer{}; });
  auto silent = connect(server);
  EXPECT_TRUE(is_closed_by_server(silent));
}

}  // namespace
}  // namespace starling::stream
