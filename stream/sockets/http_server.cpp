// SPDX-License-Identifier: Apache-2.0
// Accepts connections and answers their requests with Boost.Beast: see http_server.hpp. Each
// connection is one object, with a deadline for each read and each write.
#include "starling/stream/sockets/http_server.hpp"

#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds accept_retry{100};

using Response = http::response<http::string_body>;

Response make_response(HttpAnswer answer, unsigned version, bool keep_alive, bool head_only) {
  Response response(static_cast<http::status>(answer.status), version);
  response.set(http::field::content_type, answer.content_type);
  response.keep_alive(keep_alive);
  response.content_length(answer.body.size());
  if (!head_only) response.body() = std::move(answer.body);
  return response;
}

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

Tcp::acceptor listen_on(asio::io_context& loop, const HttpOptions& options) {
  const Tcp::endpoint endpoint(address_of(options.host), options.port);
  check_reach(reach_of(*endpoint.data()), options.reach_allowed);
  try {
    return Tcp::acceptor(loop, endpoint);
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(error.code().message());  // error.what() adds more, such as a number
  }
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<State> {
  class Connection;

  State(asio::io_context& loop, const HttpOptions& the_options, Handler the_handler)
      : options(the_options),
        handler(std::move(the_handler)),
        acceptor(listen_on(loop, options)),
        retry(loop) {}

  void accept();
  void accept_later();

  HttpOptions options;
  Handler handler;
  Tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::unordered_set<Connection*> connections;
  bool closed = false;
};

class HttpServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<State> server, Tcp::socket socket)
      : server_(std::move(server)), stream_(std::move(socket)) {
    server_->connections.insert(this);
  }
  ~Connection() { server_->connections.erase(this); }

  void read() {
    parser_.emplace();
    parser_->header_limit(server_->options.header_bytes_max);
    parser_->body_limit(0);
    stream_.expires_after(server_->options.timeout);
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](const beast::error_code& error,
                                                       std::size_t) { self->answer(error); });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  void answer(const beast::error_code& error) {
    if (error && error.category() != http::make_error_code(http::error::bad_method).category())
      return close();
    if (error == http::error::end_of_stream) return close();
    if (error)
      return write(make_response({400, "text/plain", "Bad request: " + error.message() + ".\n"}, 11,
                                 false, false));
    const auto& request = parser_->get();
    const bool head_only = request.method() == http::verb::head;
    if (!head_only && request.method() != http::verb::get)
      return write(make_response({405, "text/plain", "Only GET and HEAD are allowed.\n"},
                                 request.version(), false, false));
    const auto target = request.target();
    write(make_response(server_->handler({target.data(), target.size()}), request.version(),
                        request.keep_alive(), head_only));
  }

  void write(Response response) {
    response_ = std::move(response);
    const bool keep_alive = response_->keep_alive();
    stream_.expires_after(server_->options.timeout);
    http::async_write(
        stream_, *response_,
        [self = this->shared_from_this(), keep_alive](const beast::error_code& error, std::size_t) {
          if (error || !keep_alive || self->server_->closed) return self->close();
          self->read();
        });
  }

  std::shared_ptr<State> server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{65536};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<Response> response_;
};

void HttpServer::State::accept() {
  acceptor.async_accept(
      [self = shared_from_this()](const boost::system::error_code& error, Tcp::socket socket) {
        if (self->closed) return;
        if (error) return self->accept_later();
        if (self->connections.size() < self->options.connections_max)
          std::make_shared<Connection>(self, std::move(socket))->read();
        self->accept();
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

HttpServer::HttpServer(asio::io_context& loop, const HttpOptions& options, Handler handler)
    : state_(std::make_shared<State>(loop, options, std::move(handler))) {
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

void HttpServer::close() {
  if (std::exchange(state_->closed, true)) return;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->retry.cancel();
  for (State::Connection* connection : state_->connections) connection->close();
}

}  // namespace starling::stream
