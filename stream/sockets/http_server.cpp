// SPDX-License-Identifier: Apache-2.0
// Accepts connections and answers their requests with Boost.Beast: see http_server.hpp. Each
// connection is an HttpConnection.
#include "starling/stream/sockets/http_server.hpp"

#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>

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

HttpOrigin origin_of(const Tcp::socket& socket, const HttpOptions& options) {
  boost::system::error_code ignored;
  const auto local = socket.local_endpoint(ignored);
  const auto peer = socket.remote_endpoint(ignored);
  HttpOrigin from{.local_address = local.address().to_string(),
                  .peer_address = peer.address().to_string(),
                  .is_tls = options.secure != nullptr};
  from.is_proxy = options.proxies && options.proxies->has(from.peer_address);
  from.is_local = !from.is_proxy && reach_of(*peer.data()) == Reach::machine;
  return from;
}

/// A connection of a trusted proxy, which may begin with a header of the PROXY protocol. The bytes
/// of something else stay in the socket.
struct Introduction {
  Tcp::socket socket;
  HttpOrigin from;
  asio::steady_timer deadline;
  std::vector<unsigned char> header = std::vector<unsigned char>(proxy_head_bytes);

  /// Calls `received` when the whole header can be read.
  template <class Received>
  void wait(Received received) {
    boost::system::error_code ignored;
    const auto bytes = static_cast<int>(header.size());
    socket.set_option(asio::socket_base::receive_low_watermark(bytes), ignored);
    socket.async_wait(Tcp::socket::wait_read, std::move(received));
  }
  /// Reads the header. Returns false if it has not come.
  bool read(int flags) {
    const auto got =
        ::recv(socket.native_handle(), header.data(), header.size(), flags | MSG_DONTWAIT);
    return got == static_cast<ssize_t>(header.size());
  }
};

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
  void introduce(Tcp::socket socket, HttpOrigin from);
  void end_introduction(const std::shared_ptr<Introduction>& made);
  void serve_introduced(const std::shared_ptr<Introduction>& made);
  void serve(Tcp::socket socket, HttpOrigin from);
  bool make_room();

  HttpOptions options;
  HttpHandlers handlers;
  HttpBodies bodies;
  std::uint64_t accepted = 0;
  Tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::unordered_set<HttpConnection*> connections;
  std::unordered_set<std::shared_ptr<Introduction>> introductions;
  std::uint64_t refused = 0;
  bool closed = false;
};

void HttpServer::State::accept() {
  acceptor.async_accept(
      [self = shared_from_this()](const boost::system::error_code& error, Tcp::socket socket) {
        if (self->closed) return;
        if (error) return self->accept_later();
        HttpOrigin from = origin_of(socket, self->options);
        if (from.is_proxy)
          self->introduce(std::move(socket), std::move(from));
        else
          self->serve(std::move(socket), std::move(from));
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

/// Serves a proxy's connection once it is known whether it begins with the PROXY protocol.
void HttpServer::State::introduce(Tcp::socket socket, HttpOrigin from) {
  if (introductions.size() >= options.connections_max) {
    ++refused;
    return;
  }
  const auto made = std::make_shared<Introduction>(
      Introduction{std::move(socket), std::move(from), asio::steady_timer(retry.get_executor())});
  introductions.insert(made);
  made->deadline.expires_after(options.timeout);
  made->deadline.async_wait([made](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error) made->socket.close(ignored);
  });
  made->wait([self = shared_from_this(), made](const boost::system::error_code& error) {
    const bool has_head = !error && made->read(MSG_PEEK);
    const auto bytes = has_head ? proxy_header_bytes(made->header) : std::nullopt;
    if (!bytes) return self->end_introduction(made);
    if (*bytes == 0) return self->serve_introduced(made);
    made->header.resize(*bytes);
    made->wait([self, made](const boost::system::error_code& second) {
      if (second || !made->read(0)) return self->end_introduction(made);
      const auto client = proxy_header_client(made->header);
      if (!client) return self->end_introduction(made);
      if (!client->empty()) {
        made->from.peer_address = *client;
        made->from.is_proxy = self->options.proxies->has(*client);
        made->from.is_local = !made->from.is_proxy && asio::ip::make_address(*client).is_loopback();
      }
      self->serve_introduced(made);
    });
  });
}

void HttpServer::State::end_introduction(const std::shared_ptr<Introduction>& made) {
  made->deadline.cancel();
  introductions.erase(made);
}

void HttpServer::State::serve_introduced(const std::shared_ptr<Introduction>& made) {
  end_introduction(made);
  if (closed) return;
  boost::system::error_code ignored;
  made->socket.set_option(asio::socket_base::receive_low_watermark(1), ignored);
  serve(std::move(made->socket), std::move(made->from));
}

void HttpServer::State::serve(Tcp::socket socket, HttpOrigin from) {
  if (!make_room()) return;
  const auto self = shared_from_this();
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
  for (const auto& made : state_->introductions) made->socket.close(ignored);
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
