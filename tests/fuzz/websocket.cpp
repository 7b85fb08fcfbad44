// SPDX-License-Identifier: Apache-2.0
// Fuzzes a WebSocket with the bytes that a client sends after its handshake: frames, good and bad.
// Half of an input comes with the head of the request, and the rest over a loopback socket.
#include <memory>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "starling/stream/websocket/web_socket.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

constexpr std::string_view head =
    "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

class Conversation {
 public:
  static void about(std::string_view frames) {
    static Conversation one;
    one.run(frames);
  }

 private:
  void run(std::string_view frames) {
    Tcp::socket client(loop_);
    Tcp::socket accepted(loop_);
    // Both calls are asynchronous, because the signal of libFuzzer's timer would interrupt a
    // blocking call.
    int done = 0;
    acceptor_.async_accept(accepted, [&](const boost::system::error_code&) { ++done; });
    client.async_connect(acceptor_.local_endpoint(),
                         [&](const boost::system::error_code&) { ++done; });
    while (done < 2) loop_.run_one();
    client.set_option(asio::socket_base::linger(true, 0));  // leaves no sockets in TIME_WAIT
    std::size_t bytes = 0;
    int ended = 0;
    const auto socket = std::make_shared<stream::WebSocket>(
        std::move(accepted), limits_, counts_,
        stream::WebSocket::Handlers{
            .received =
                [&](const std::vector<std::byte>& message) {
                  check_invariant(ended == 0, "nothing comes after the end");
                  check_invariant(message.size() <= limits_.message_bytes_max,
                                  "no message is too long");
                  bytes += message.size();
                },
            .sent = [] {},
            .ended = [&] { ++ended; }});
    const std::string_view early = frames.substr(0, frames.size() / 2);
    socket->start(std::string(head) + std::string(early), {});
    boost::system::error_code ignored;
    asio::write(client, asio::buffer(frames.substr(early.size())), ignored);
    client.shutdown(Tcp::socket::shutdown_send, ignored);
    while (ended == 0) loop_.run_one();
    loop_.poll();
    check_invariant(ended == 1, "a connection ends once");
    check_invariant(bytes <= frames.size(), "no message has bytes that nobody sent");
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> never_stops_{loop_.get_executor()};
  Tcp::acceptor acceptor_{loop_, {asio::ip::make_address("127.0.0.1"), 0}};
  stream::SocketLimits limits_{.message_bytes_max = 1000, .pings_burst = 4};
  stream::SocketCounts counts_;
};

/// Returns a frame whose mask is zero, so that its payload is sent unchanged.
std::string frame(int first_byte, const std::string& payload) {
  std::string text{static_cast<char>(first_byte)};
  if (payload.size() < 126) {
    text += static_cast<char>(0x80 | payload.size());
  } else {
    text += static_cast<char>(0xFE);
    text += static_cast<char>(payload.size() >> 8);
    text += static_cast<char>(payload.size() & 0xFF);
  }
  return text + std::string(4, '\0') + payload;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string close = frame(0x88, std::string("\x03\xE8", 2) + "bye");
  return {frame(0x82, "a message") + close,
          frame(0x02, "a part") + frame(0x89, "ping") + frame(0x80, " and another") + close,
          frame(0x82, std::string(1001, 'x')),
          frame(0x81, "a text"),
          frame(0x8A, "") + frame(0x02, "") + frame(0x00, "") + frame(0x80, ""),
          std::string("\x82\xFF\x80\0\0\0\0\0\0\0\0\0\0\0", 14)};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  starling::fuzz::Conversation::about(starling::fuzz::text_of(data, size));
  return 0;
}
