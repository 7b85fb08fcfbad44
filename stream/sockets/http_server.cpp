// SPDX-License-Identifier: Apache-2.0
// Accepts connections and answers their requests with Boost.Beast: see http_server.hpp. Each
// connection is an HttpConnection.
#include "starling/stream/sockets/http_server.hpp"

#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "starling/stream/sockets/http_bodies.hpp"
#include "starling/stream/sockets/http_connection.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds accept_retry{100};

asio::ip::address address_of(const std::string& host) {
  if (host == "localhost") return asio::ip::address_v4::loopback();
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error)
    throw std::runtime_error(
        "the host must be a numeric address (127.0.0.1, or 0.0.0.0 for every address of this "
        "machine) or localhost");
  return address;
}

HttpOrigin origin_of(const Tcp::socket& socket, bool is_tls) {
  boost::system::error_code ignored;
  const auto local = socket.local_endpoint(ignored);
  const auto peer = socket.remote_endpoint(ignored);
  return {.local_address = local.address().to_string(),
          .peer_address = peer.address().to_string(),
          .is_local = reach_of(*peer.data()) == Reach::machine,
          .is_tls = is_tls};
}

Tcp::acceptor listen_on(asio::io_context& loop, const HttpOptions& options) {
  const Tcp::endpoint endpoint(address_of(options.host), options.port);
  check_reach(reach_of(*endpoint.data()), options.reach_allowed);
  try {
    return Tcp::acceptor(loop, endpoint);
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(error.code().message());  // error.what() adds a number
  }
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<State> {
  State(asio::io_context& loop, const HttpOptions& the_options, HttpHandlers the_handlers)
      : options(the_options),
        handlers(std::move(the_handlers)),
        bodies(options.bodies_bytes_max),
        acceptor(listen_on(loop, options)),
        retry(loop) {}

  void accept();
  void accept_later();
  void serve(Tcp::socket socket);
  bool make_room();

  HttpOptions options;
  HttpHandlers handlers;
  HttpBodies bodies;
  std::uint64_t accepted = 0;
  Tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::unordered_set<HttpConnection*> connections;
  std::uint64_t refused = 0;
  bool closed = false;
};

void HttpServer::State::accept() {
  acceptor.async_accept(
      [self = shared_from_this()](const boost::system::error_code& error, Tcp::socket socket) {
        if (self->closed) return;
        if (error) return self->accept_later();
        if (self->make_room()) self->serve(std::move(socket));
        self->accept();
      });
}

/// Returns whether a further connection may be served. At the limit, closes the connection that has
/// waited longest for its client to send a complete request, so that silent clients do
/// not keep others out. Returns false if all connections are being answered.
bool HttpServer::State::make_room() {
  if (connections.size() < options.connections_max) return true;
  ++refused;
  HttpConnection* oldest = nullptr;
  for (HttpConnection* each : connections)
    if (each->waiting_since() &&
        (oldest == nullptr || *each->waiting_since() < *oldest->waiting_since()))
      oldest = each;
  if (oldest == nullptr) return false;
  connections.erase(oldest);  // frees its place before the loop destroys it
  oldest->close();
  return true;
}

void HttpServer::State::serve(Tcp::socket socket) {
  const auto self = shared_from_this();
  HttpOrigin from = origin_of(socket, options.secure != nullptr);
  from.connection = ++accepted;
  if (options.secure) {
    auto secured = options.secure(std::move(socket));
    if (!secured) return;
    socket = std::move(*secured);
  }
  const auto connection = std::make_shared<HttpConnection>(
      std::move(socket), std::move(from), options, handlers, bodies,
      [self](HttpConnection* ended) { self->connections.erase(ended); });
  connections.insert(connection.get());
  connection->read();
}

// Waits before the next accept. After an error, for example if no file descriptor is free, an
// immediate retry would fail again and keep the loop busy.
void HttpServer::State::accept_later() {
  retry.expires_after(accept_retry);
  retry.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->closed) self->accept();
  });
}

HttpServer::HttpServer(asio::io_context& loop, const HttpOptions& options, HttpHandlers handlers)
    : state_(std::make_shared<State>(loop, options, std::move(handlers))) {
  state_->accept();
}

HttpServer::~HttpServer() {
  close();
}

std::string HttpServer::endpoint() const {
  const auto local = state_->acceptor.local_endpoint();
  return local.address().to_string() + ":" + std::to_string(local.port());
}

std::size_t HttpServer::connection_count() const {
  return state_->connections.size();
}

std::size_t HttpServer::body_bytes() const {
  return state_->bodies.bytes();
}

std::uint64_t HttpServer::refused_count() const {
  return state_->refused;
}

void HttpServer::close() {
  if (std::exchange(state_->closed, true)) return;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->retry.cancel();
  for (HttpConnection* connection : state_->connections) connection->close();
}

std::string fault_of_http_host(const std::string& host) {
  try {
    address_of(host);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace starling::stream
