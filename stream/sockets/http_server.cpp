// SPDX-License-Identifier: Apache-2.0
// Accepts connections and answers their requests with Boost.Beast: see http_server.hpp. Each
// connection is an HttpConnection.
#include "starling/stream/sockets/http_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>
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

asio::ip::address host_address(const std::string& host) {
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

Tcp::acceptor listen_on(asio::io_context& loop, const HttpOptions& options) {
  const Tcp::endpoint endpoint(host_address(options.host), options.port);
  check_reach(reach_of(*endpoint.data()), options.reach_allowed);
  try {
    return Tcp::acceptor(loop, endpoint);
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(error.code().message());  // error.what() adds a number
  }
}

}  // namespace

struct HttpServer::State final : HttpConnection::Owner, std::enable_shared_from_this<State> {
  /// A connection that has sent nothing.
  struct Silent {
    Tcp::socket socket;
    PeerAddress address;
    HttpConnection::Time until;
  };
  /// A connection of a trusted proxy, which may begin with a header of the PROXY protocol. The
  /// bytes of something else stay in the socket.
  struct Introduction {
    Silent connection;
    HttpOrigin from;
    std::vector<unsigned char> header = std::vector<unsigned char>(proxy_head_bytes);

    /// Calls `received` when the whole header can be read.
    template <class Received>
    void wait(Received received) {
      boost::system::error_code ignored;
      const auto bytes = static_cast<int>(header.size());
      connection.socket.set_option(asio::socket_base::receive_low_watermark(bytes), ignored);
      connection.socket.async_wait(Tcp::socket::wait_read, std::move(received));
    }
    /// Reads the header. Returns false if it has not come.
    bool read(int flags) {
      const auto got = ::recv(connection.socket.native_handle(), header.data(), header.size(),
                              flags | MSG_DONTWAIT);
      return got == static_cast<ssize_t>(header.size());
    }
  };

  State(asio::io_context& loop, const HttpOptions& the_options, HttpHandlers the_handlers)
      : options(the_options),
        handlers(std::move(the_handlers)),
        bodies(options.bodies_bytes_max),
        requests({.places_max = options.connections_max}),
        handshakes(handshake_places(options.handshakes_max)),
        acceptor(listen_on(loop, options)),
        retry(loop),
        late(loop) {}

  // HttpConnection::Owner
  const HttpOptions& http_options() const override { return options; }
  const HttpHandlers& http_handlers() const override { return handlers; }
  HttpBodies& http_bodies() override { return bodies; }
  bool may_serve(HttpConnection& connection) override;
  void handles(HttpConnection& connection) override { requests.set_idle(connection.number, false); }
  void waits(HttpConnection& connection) override;
  void ended(HttpConnection& connection) override;

  void accept();
  void accept_later();
  void add(Tcp::socket socket);
  void heard(std::uint64_t number);
  void introduce(std::uint64_t number, Silent heard, HttpOrigin from);
  void take_header(std::uint64_t number);
  void take_introduction(std::uint64_t number);
  void end_introduction(std::uint64_t number);
  void serve_introduced(std::uint64_t number);
  void serve(std::uint64_t number, Silent heard, HttpOrigin from);
  void close(std::uint64_t number);
  void close_late();

  HttpOptions options;
  HttpHandlers handlers;
  HttpBodies bodies;
  Places requests;
  Places handshakes;
  Tcp::acceptor acceptor;
  Tcp::endpoint peer;  ///< address of the connection that is being accepted
  asio::steady_timer retry;
  asio::steady_timer late;
  std::uint64_t last_number = 0;
  std::map<std::uint64_t, Silent> silent;
  std::map<std::uint64_t, Introduction> introductions;
  std::unordered_map<std::uint64_t, HttpConnection*> connections;  ///< those that have sent bytes
  std::uint64_t refused = 0;
  bool closed = false;
};

void HttpServer::State::accept() {
  acceptor.async_accept(peer, [self = shared_from_this()](const boost::system::error_code& error,
                                                          Tcp::socket socket) {
    if (self->closed) return;
    if (error) return self->accept_later();
    self->add(std::move(socket));
    self->accept();
  });
}

// A connection becomes an HttpConnection, and one of TLS, when its first bytes come. Until then it
// is cheap, so that many of them may wait, and a flood of them takes long to drive out a client
// that is far away.
void HttpServer::State::add(Tcp::socket socket) {
  sockaddr_storage storage{};
  std::memcpy(&storage, peer.data(), peer.size());
  const PeerAddress address = address_of(storage);
  const std::uint64_t number = ++last_number;
  const auto taken = handshakes.take(number, owner_of(zmtp::PrincipalId::anonymous, address), true);
  if (taken.gave_way) close(*taken.gave_way);
  const auto until = std::chrono::steady_clock::now() + options.timeout;
  auto& added = silent.emplace(number, Silent{std::move(socket), address, until}).first->second;
  if (silent.size() == 1) close_late();
  added.socket.async_wait(Tcp::socket::wait_read, [self = shared_from_this(),
                                                   number](const boost::system::error_code& error) {
    if (!error) self->heard(number);
  });
}

/// Begins to serve a connection that has sent something.
void HttpServer::State::heard(std::uint64_t number) {
  const auto found = silent.find(number);
  if (found == silent.end()) return;
  Silent heard = std::move(found->second);
  silent.erase(found);
  char byte = 0;
  const ssize_t peeked = ::recv(heard.socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_ended = peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  if (is_ended) return handshakes.give_back(number);
  handshakes.set_idle(number, false);
  HttpOrigin from = origin_of(heard.socket, options);
  if (from.is_proxy)
    introduce(number, std::move(heard), std::move(from));
  else
    serve(number, std::move(heard), std::move(from));
}

void HttpServer::State::serve(std::uint64_t number, Silent heard, HttpOrigin from) {
  from.connection = number;
  if (options.secure) {
    auto secured = options.secure(std::move(heard.socket));
    if (!secured) return handshakes.give_back(number);
    heard.socket = std::move(*secured);
  }
  const auto connection = std::make_shared<HttpConnection>(std::move(heard.socket), std::move(from),
                                                           shared_from_this());
  connection->number = number;
  connections.emplace(number, connection.get());
  connection->read(heard.until);
}

/// A request whose body is still to come counts as idle, so that slow bodies keep no other out.
bool HttpServer::State::may_serve(HttpConnection& connection) {
  const auto taken = requests.take(
      connection.number, owner_of(connection.principal(), connection.client_address()), true);
  if (taken.gave_way) close(*taken.gave_way);
  if (taken.outcome != Places::Outcome::taken) {
    ++refused;
    return false;
  }
  handshakes.give_back(connection.number);
  return true;
}

/// Serves a proxy's connection once it is known whether it begins with the PROXY protocol.
void HttpServer::State::introduce(std::uint64_t number, Silent heard, HttpOrigin from) {
  Introduction& made =
      introductions.try_emplace(number, Introduction{std::move(heard), std::move(from)})
          .first->second;
  if (introductions.size() == 1) close_late();
  made.wait([self = shared_from_this(), number](const boost::system::error_code& error) {
    if (error) return self->end_introduction(number);
    self->take_header(number);
  });
}

/// Looks at the first bytes of a proxy's connection.
void HttpServer::State::take_header(std::uint64_t number) {
  const auto found = introductions.find(number);
  if (found == introductions.end()) return;
  Introduction& made = found->second;
  const auto bytes = made.read(MSG_PEEK) ? proxy_header_bytes(made.header) : std::nullopt;
  if (!bytes) return end_introduction(number);
  if (*bytes == 0) return serve_introduced(number);
  made.header.resize(*bytes);
  made.wait([self = shared_from_this(), number](const boost::system::error_code& error) {
    if (error) return self->end_introduction(number);
    self->take_introduction(number);
  });
}

/// Takes the client's address from a whole header of the PROXY protocol.
void HttpServer::State::take_introduction(std::uint64_t number) {
  const auto found = introductions.find(number);
  if (found == introductions.end()) return;
  Introduction& made = found->second;
  const auto client = made.read(0) ? proxy_header_client(made.header) : std::nullopt;
  if (!client) return end_introduction(number);
  if (!client->empty()) {
    made.from.peer_address = *client;
    made.from.is_proxy = options.proxies->has(*client);
    made.from.is_local = !made.from.is_proxy && asio::ip::make_address(*client).is_loopback();
  }
  serve_introduced(number);
}

void HttpServer::State::end_introduction(std::uint64_t number) {
  if (introductions.erase(number) > 0) handshakes.give_back(number);
}

void HttpServer::State::serve_introduced(std::uint64_t number) {
  Introduction made = std::move(introductions.extract(number).mapped());
  boost::system::error_code ignored;
  made.connection.socket.set_option(asio::socket_base::receive_low_watermark(1), ignored);
  serve(number, std::move(made.connection), std::move(made.from));
}

/// The connection gets a new number, so that it counts as a newer one than those that wait.
void HttpServer::State::waits(HttpConnection& connection) {
  requests.give_back(connection.number);
  handshakes.give_back(connection.number);
  connections.erase(connection.number);
  connection.number = ++last_number;
  connections.emplace(connection.number, &connection);
  const auto taken = handshakes.take(
      connection.number,
      owner_of(zmtp::PrincipalId::anonymous, address_of(connection.from().peer_address)));
  if (taken.gave_way) close(*taken.gave_way);
}

void HttpServer::State::ended(HttpConnection& connection) {
  requests.give_back(connection.number);
  handshakes.give_back(connection.number);
  connections.erase(connection.number);
}

/// Closes a connection that gave way.
void HttpServer::State::close(std::uint64_t number) {
  ++refused;
  if (silent.erase(number) > 0 || introductions.erase(number) > 0) return;
  if (const auto found = connections.find(number); found != connections.end())
    found->second->close();
}

/// Closes the connections that have sent nothing, or no whole header of a proxy, in time.
void HttpServer::State::close_late() {
  const auto now = std::chrono::steady_clock::now();
  std::optional<HttpConnection::Time> next;
  const auto close_first = [&](auto& waiting, const auto& until_of) {
    for (; !waiting.empty() && until_of(waiting.begin()->second) <= now;
         waiting.erase(waiting.begin()))
      handshakes.give_back(waiting.begin()->first);
    if (waiting.empty()) return;
    const auto until = until_of(waiting.begin()->second);
    next = next ? std::min(*next, until) : until;
  };
  close_first(silent, [](const Silent& each) { return each.until; });
  close_first(introductions, [](const Introduction& each) { return each.connection.until; });
  if (!next) return;
  late.expires_at(*next);
  late.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->closed) self->close_late();
  });
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

const Places& HttpServer::requests() const {
  return state_->requests;
}

const Places& HttpServer::handshakes() const {
  return state_->handshakes;
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
  state_->late.cancel();
  state_->silent.clear();
  state_->introductions.clear();
  for (const auto& [number, connection] : state_->connections) connection->close();
}

std::string fault_of_http_host(const std::string& host) {
  try {
    host_address(host);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace starling::stream
