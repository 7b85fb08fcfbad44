// SPDX-License-Identifier: Apache-2.0
// Fuzzes the HTTP server. Sends the input over a loopback socket, in two pieces.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "starling/stream/sockets/http_server.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

class Exchange {
 public:
  static std::string answer_to(std::string_view request) {
    static Exchange one;
    return one.ask(request);
  }

 private:
  std::string ask(std::string_view request) {
    const std::string endpoint = server_.endpoint();
    const auto port =
        static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    Tcp::socket socket(loop_);
    // Connects asynchronously, because the signal of libFuzzer's timer would interrupt a blocking
    // call.
    bool is_done = false;
    socket.async_connect({asio::ip::make_address("127.0.0.1"), port},
                         [&](const boost::system::error_code&) { is_done = true; });
    while (!is_done) loop_.run_one();
    socket.set_option(asio::socket_base::linger(true, 0));  // leaves no sockets in TIME_WAIT
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(request.substr(0, request.size() / 2)), ignored);
    loop_.poll();
    asio::write(socket, asio::buffer(request.substr(request.size() / 2)), ignored);
    socket.shutdown(Tcp::socket::shutdown_send, ignored);
    std::string answer;
    is_done = false;
    asio::async_read(socket, asio::dynamic_buffer(answer),
                     [&](const boost::system::error_code&, std::size_t) { is_done = true; });
    while (!is_done) loop_.run_one();
    return answer;
  }

  asio::io_context loop_{1};
  stream::HttpServer server_{
      loop_,
      {.body_bytes_max = 1000},
      {.admit = [](const stream::HttpHead&) { return std::nullopt; },
       .handle =
           [](stream::HttpRequest request, const stream::HttpRespond& respond) {
             respond({.body = request.head.target + request.body});
           },
       .refuse =
           [](unsigned status, std::string_view sentence) {
             return stream::HttpAnswer{.status = status, .body = std::string(sentence)};
           }}};
};

}  // namespace

std::vector<std::string> seeds() {
  return {
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "HEAD /healthz HTTP/1.0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: "
      "100-continue\r\n\r\n1\r\na\r\n0\r\n\r\n",
      "DELETE /metrics HTTP/1.1\r\nUpgrade: websocket\r\n folded: yes\r\n\r\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  const std::string answer = Exchange::answer_to(text_of(data, size));
  starling::check_invariant(answer.empty() || answer.starts_with("HTTP/1."), "the answer is HTTP");
  return 0;
}
