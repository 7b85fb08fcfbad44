// SPDX-License-Identifier: Apache-2.0
// Accepts connections and passes their bytes on, on a thread of its own: see tls_tunnel.hpp.
#include "tests/stream/tls/tls_tunnel.hpp"

#include <array>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

namespace starling::stream {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using TunnelError = boost::system::error_code;

namespace {

struct Bridge : std::enable_shared_from_this<Bridge> {
  Bridge(Tcp::socket the_plain, asio::ssl::context& context)
      : plain(std::move(the_plain)), tls(plain.get_executor(), context) {}

  void start(const Tcp::endpoint& server) {
    tls.next_layer().async_connect(server, [self = shared_from_this()](const TunnelError& error) {
      if (error) return self->end();
      self->tls.async_handshake(asio::ssl::stream_base::client, [self](const TunnelError& failed) {
        if (failed) return self->end();
        pass(self, self->plain, self->tls, self->up);
        pass(self, self->tls, self->plain, self->down);
      });
    });
  }

  template <class From, class To>
  static void pass(const std::shared_ptr<Bridge>& self, From& from, To& to,
                   std::array<char, 16384>& bytes) {
    from.async_read_some(asio::buffer(bytes), [self, &from, &to, &bytes](const TunnelError& error,
                                                                         std::size_t size) {
      if (error) return self->end();
      asio::async_write(to, asio::buffer(bytes, size),
                        [self, &from, &to, &bytes](const TunnelError& failed, std::size_t) {
                          if (failed) return self->end();
                          pass(self, from, to, bytes);
                        });
    });
  }

  void end() {
    TunnelError ignored;
    plain.close(ignored);
    tls.next_layer().close(ignored);
  }

  Tcp::socket plain;
  asio::ssl::stream<Tcp::socket> tls;
  std::array<char, 16384> up{};
  std::array<char, 16384> down{};
};

}  // namespace

struct TlsTunnel::State {
  explicit State(const Tcp::endpoint& the_server) : server(the_server) {
    accept();
    thread = std::thread([this] { loop.run(); });
  }
  ~State() {
    loop.stop();
    thread.join();
  }

  void accept() {
    acceptor.async_accept([this](const TunnelError& error, Tcp::socket socket) {
      if (!error) std::make_shared<Bridge>(std::move(socket), context)->start(server);
      accept();
    });
  }

  Tcp::endpoint server;
  asio::ssl::context context{asio::ssl::context::tls_client};
  asio::io_context loop;
  Tcp::acceptor acceptor{loop, {asio::ip::address_v4::loopback(), 0}};
  std::thread thread;
};

TlsTunnel::TlsTunnel(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  state_ = std::make_unique<State>(
      Tcp::endpoint(asio::ip::make_address(server.substr(0, colon)),
                    static_cast<std::uint16_t>(std::stoi(server.substr(colon + 1)))));
}

TlsTunnel::~TlsTunnel() = default;

std::string TlsTunnel::endpoint() const {
  return "127.0.0.1:" + std::to_string(state_->acceptor.local_endpoint().port());
}

}  // namespace starling::stream
