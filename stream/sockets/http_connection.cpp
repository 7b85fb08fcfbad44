// SPDX-License-Identifier: Apache-2.0
// Reads requests and writes answers with Boost.Beast: see http_connection.hpp. If an answer is sent
// before the request's body was read, the connection discards the rest and closes. Without that,
// the system would reset the connection, and the client could lose the answer.
#include "starling/stream/sockets/http_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <boost/asio/write.hpp>
#include <sys/socket.h>

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

/// Send buffer of the socket, also after a hand-over. The system takes at most about twice this
/// number of bytes at a time. Without the limit, it may take several megabytes, which holds the
/// loop for a millisecond.
constexpr int system_bytes_max = 256 * 1024;
/// The most bytes of one read, so that the loop is soon free again.
constexpr std::size_t read_bytes_max = 65536;
/// Shorter bodies need no room.
constexpr std::size_t uncounted_body_bytes = 4096;
constexpr std::chrono::milliseconds discard_time{1000};
constexpr unsigned switching_protocols = 101;
/// A browser that has seen TLS here uses only TLS for a year.
constexpr const char* year_of_tls = "max-age=31536000";

std::string text_of(boost::string_view text) {
  return {text.data(), text.size()};
}

/// Returns why the request's length or host is ambiguous; empty: it is not. Two servers that read
/// an ambiguous request differently would disagree where the next request begins.
std::string_view ambiguity_of(const http::request_header<>& head) {
  const bool has_encoding = head.count(http::field::transfer_encoding) > 0;
  if (head.version() != 10 && head.version() != 11)
    return "Only HTTP/1.0 and HTTP/1.1 are understood.";
  if (has_encoding && head.count(http::field::content_length) > 0)
    return "A request has Content-Length or Transfer-Encoding, not both.";
  if (head.count(http::field::content_length) > 1 ||
      head[http::field::content_length].find(',') != boost::string_view::npos)
    return "A request has one Content-Length; send it once.";
  if (has_encoding && (head.version() < 11 || head.count(http::field::transfer_encoding) > 1 ||
                       !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return "The only Transfer-Encoding is chunked, once, and in HTTP/1.1.";
  if (head.count(http::field::host) > 1 ||
      (head.version() >= 11 && head.count(http::field::host) == 0))
    return "A request has one Host field, with the name or address of this server.";
  return {};
}

/// Returns the status and the sentence for an error of the HTTP parser.
std::pair<unsigned, std::string> refusal_of(const beast::error_code& error,
                                            const HttpOptions& options) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return {431, "The head of a request has at most " + std::to_string(options.header_bytes_max) +
                     " bytes."};
  if (error == http::error::body_limit)
    return {413, "The body of a request has at most as many bytes as http-body-bytes-max (" +
                     std::to_string(options.body_bytes_max) +
                     ") allows; send it in several requests."};
  return {400, "This is not a valid HTTP request: " + error.message() + "."};
}

}  // namespace

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, HttpOrigin from,
                               std::shared_ptr<Owner> owner)
    : from_(std::move(from)),
      owner_(std::move(owner)),
      options_(owner_->http_options()),
      handlers_(owner_->http_handlers()),
      bodies_(owner_->http_bodies()),
      stream_(std::move(socket)),
      answer_deadline_(stream_.get_executor()),
      buffer_(read_bytes_max) {
  Error ignored;
  stream_.socket().set_option(asio::socket_base::send_buffer_size(system_bytes_max), ignored);
}

HttpConnection::~HttpConnection() {
  forget_body();
  owner_->ended(*this);
}

void HttpConnection::read(Time until) {
  parser_.emplace();
  parser_->header_limit(options_.header_bytes_max);
  parser_->body_limit(options_.body_bytes_max);
  stream_.expires_at(until);
  read_head();
}

void HttpConnection::close() {
  is_closed_ = true;
  beast::error_code ignored;
  stream_.socket().close(ignored);
  answer_deadline_.cancel();
  end_wait();
  forget_body();
}

void HttpConnection::read_head() {
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, std::size_t) { self->take_head(error); });
}

void HttpConnection::take_head(const Error& error) {
  if (error) return refuse(error);
  const auto& request = parser_->get();
  if (const std::string_view why = ambiguity_of(request.base()); !why.empty())
    return refuse(400, why);
  head_ = read_fields();
  auto answer = handlers_.admit(head_);
  principal_ = head_.principal;
  if (!owner_->may_serve(*this))
    return refuse(503,
                  "As many requests are being answered as http-connections-max (" +
                      std::to_string(options_.connections_max) +
                      ") allows, and no other client has more of them than you; send the request "
                      "again in a moment.");
  const auto rest = handlers_.rest(head_);
  if (rest <= rest.zero()) return go_on(std::move(answer));
  answer_deadline_.expires_after(rest);
  answer_deadline_.async_wait(
      [self = shared_from_this(), answer = std::move(answer)](const Error& cancelled) mutable {
        if (!cancelled && !self->is_closed_) self->go_on(std::move(answer));
      });
}

/// Answers the request, or reads its body.
void HttpConnection::go_on(std::optional<HttpAnswer> answer) {
  if (answer) return write(std::move(*answer), parser_->get().keep_alive() && is_body_read());
  if (is_body_read()) return handle();
  take_room();
}

/// Reads the body when there is room for it.
void HttpConnection::take_room() {
  const std::size_t bytes = parser_->content_length().value_or(options_.body_bytes_max);
  if (bytes <= uncounted_body_bytes) return begin_body();
  body_owner_ = head_.payer.owner;
  if (bodies_.take(body_owner_, bytes)) {
    body_bytes_ = bytes;
    return begin_body();
  }
  room_granted_ = std::make_shared<const HttpBodies::GoOn>([this, bytes] {
    const auto self = shared_from_this();
    room_granted_.reset();
    body_bytes_ = bytes;
    answer_deadline_.cancel();
    stream_.expires_after(options_.timeout);
    begin_body();
  });
  bodies_.wait(body_owner_, bytes, room_granted_);
  answer_deadline_.expires_after(options_.timeout);
  answer_deadline_.async_wait([self = shared_from_this()](const Error& error) {
    if (error || !self->room_granted_) return;
    self->room_granted_.reset();
    self->refuse(503, "The bodies of all requests have as many bytes as http-bodies-bytes-max (" +
                          std::to_string(self->bodies_.bytes_max()) +
                          ") allows; send this one again in a while, or in smaller parts.");
  });
}

void HttpConnection::begin_body() {
  const auto& request = parser_->get();
  if (request.count(http::field::expect) == 0) return read_body();
  if (!beast::iequals(request[http::field::expect], "100-continue"))
    return refuse(417, "The only Expect is 100-continue.");
  ask_for_body();
}

void HttpConnection::ask_for_body() {
  static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(go_on),
                    [self = shared_from_this()](const Error& error, std::size_t) {
                      if (error) return self->close();
                      self->read_body();
                    });
}

void HttpConnection::read_body() {
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, std::size_t) { self->take_body(error); });
}

void HttpConnection::take_body(const Error& error) {
  if (error) return refuse(error);
  handle();
}

void HttpConnection::forget_body() {
  room_granted_.reset();
  if (body_bytes_ > 0) bodies_.give_back(body_owner_, std::exchange(body_bytes_, 0));
}

void HttpConnection::handle() {
  owner_->handles(*this);
  const std::uint64_t exchange = ++exchange_;
  wait_ = std::make_shared<HttpWait>();
  stream_.expires_never();
  answer_deadline_.expires_after(options_.timeout);
  answer_deadline_.async_wait([self = shared_from_this(), exchange](const Error& error) {
    if (error) return;
    self->end_wait();  // the handler may say more than the sentence below
    self->respond(exchange,
                  self->handlers_.refuse(503,
                                         "The answer was not ready in time. A change may still be "
                                         "made; sending the request again is safe."));
  });
  // The handler may keep `respond` for long, so `respond` must not keep a closed connection alive.
  handlers_.handle({std::move(head_), std::move(parser_->get().body()), wait_},
                   [weak = weak_from_this(), exchange](HttpAnswer answer) {
                     if (const auto self = weak.lock()) self->respond(exchange, std::move(answer));
                   });
  if (wait_ && wait_->is_watched()) wait_for_leave();
}

/// Ends the wait if the client closes the connection, or its sending side, before the answer. A
/// client that has sent its next request already is not watched.
void HttpConnection::wait_for_leave() {
  stream_.socket().async_wait(asio::socket_base::wait_read,
                              [weak = weak_from_this(), exchange = exchange_](const Error& error) {
                                const auto self = weak.lock();
                                if (error || !self || exchange != self->exchange_) return;
                                if (self->has_client_left()) self->end_wait();
                              });
}

bool HttpConnection::has_client_left() {
  char next = 0;
  const auto peeked = ::recv(stream_.socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EINTR);
}

void HttpConnection::end_wait() {
  if (const auto wait = std::exchange(wait_, nullptr)) wait->end();
}

void HttpConnection::respond(std::uint64_t exchange, HttpAnswer answer) {
  if (exchange != exchange_ || is_closed_) return;
  ++exchange_;  // a second answer has no effect
  answer_deadline_.cancel();
  if (wait_) {
    if (wait_->is_watched()) stream_.cancel();
    std::exchange(wait_, nullptr)->answered();
  }
  forget_body();
  write(std::move(answer), parser_->get().keep_alive());
}

/// Closes the connection after an error of its socket. A timeout counts if a request had begun.
void HttpConnection::fail(const Error& error) {
  const bool is_idle = !parser_->got_some();  // no byte of a request has come, so nothing is late
  if (error == beast::error::timeout && !is_idle) handlers_.timed_out();
  close();
}

void HttpConnection::refuse(const Error& error) {
  const bool is_http =
      error.category() == http::make_error_code(http::error::bad_method).category();
  if (!is_http || error == http::error::end_of_stream) return fail(error);
  const auto [status, sentence] = refusal_of(error, options_);
  refuse(status, sentence);
}

void HttpConnection::refuse(unsigned status, std::string_view sentence) {
  write(handlers_.refuse(status, sentence), false);
}

void HttpConnection::write(HttpAnswer answer, bool keep_alive) {
  handlers_.answered(answer.status);
  const auto& request = parser_->get();
  if (answer.hand_over && answer.is_headless) {
    hand_over_ = std::move(answer.hand_over);
    return hand_over();
  }
  const unsigned version = request.version() == 10 ? 10 : 11;
  response_.emplace(static_cast<http::status>(answer.status), version);
  set_fields(answer);
  if (answer.hand_over) {
    // The answer ends when the connection ends, unless the answer switches to another protocol.
    keep_alive = answer.status == switching_protocols;
    if (request.method() != http::verb::head) hand_over_ = std::move(answer.hand_over);
  } else {
    response_->content_length(answer.body.size());
  }
  response_->keep_alive(keep_alive);
  if (request.method() != http::verb::head) response_->body() = std::move(answer.body);
  stream_.expires_after(options_.timeout);
  http::async_write(stream_, *response_,
                    [self = shared_from_this(), keep_alive](const Error& error, std::size_t) {
                      if (error) return self->fail(error);
                      self->finish(keep_alive);
                    });
}

/// Sets the fields that all answers have. The answer's own fields replace them. Answers of the API
/// are not pages: a browser must not run, frame or keep them.
void HttpConnection::set_fields(const HttpAnswer& answer) {
  response_->set(http::field::content_type, answer.content_type);
  response_->set("X-Content-Type-Options", "nosniff");
  response_->set("X-Frame-Options", "DENY");
  response_->set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  response_->set("Referrer-Policy", "no-referrer");
  response_->set(http::field::cache_control, "no-store");
  if (from_.is_tls) response_->set(http::field::strict_transport_security, year_of_tls);
  for (const auto& [name, value] : answer.fields) response_->set(name, value);
}

void HttpConnection::finish(bool keep_alive) {
  if (is_closed_) return;
  if (hand_over_) return hand_over();
  if (keep_alive) {
    owner_->waits(*this);
    return read(std::chrono::steady_clock::now() + options_.timeout);
  }
  if (is_body_read()) return close();
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(discard_time);
  discard();
}

void HttpConnection::hand_over() {
  is_closed_ = true;
  const auto received = buffer_.data();
  HandedOver connection{.socket = stream_.release_socket(),
                        .received = {static_cast<const char*>(received.data()), received.size()}};
  std::exchange(hand_over_, {})(std::move(connection));
}

void HttpConnection::discard() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(read_bytes_max),
                          [self = shared_from_this()](const Error& error, std::size_t) {
                            if (error) return self->close();
                            self->discard();
                          });
}

bool HttpConnection::is_body_read() const {
  return parser_->is_done();
}

/// Returns whether a proxy that is not trusted has sent the request for a client.
bool HttpConnection::is_forwarded() const {
  return options_.proxies != nullptr && !from_.is_proxy &&
         std::ranges::any_of(parser_->get().base(), [](const auto& field) {
           const auto name = field.name_string();
           return is_forwarding_field({name.data(), name.size()});
         });
}

/// Returns the two ends of the connection, with the client for which a trusted proxy sends the
/// request. A client that the proxy does not name is not local.
HttpOrigin HttpConnection::client() const {
  HttpOrigin from = from_;
  if (!from.is_proxy) return from;
  const auto joined = [this](boost::string_view name) {
    std::string values;
    for (auto [field, end] = parser_->get().equal_range(name); field != end; ++field)
      values.append(values.empty() ? "" : ",").append(text_of(field->value()));
    return values;
  };
  const auto client = options_.proxies->client_of(joined("Forwarded"), joined("X-Forwarded-For"));
  if (!client) return from;
  from.peer_address = *client;
  from.is_local = asio::ip::make_address(*client).is_loopback();
  return from;
}

HttpHead HttpConnection::read_fields() const {
  const auto& request = parser_->get();
  const auto field = [&](http::field name) { return text_of(request[name]); };
  return {.method = text_of(request.method_string()),
          .target = text_of(request.target()),
          .host = field(http::field::host),
          .origin = field(http::field::origin),
          .content_type = field(http::field::content_type),
          .accept = field(http::field::accept),
          .last_event_id = text_of(request["Last-Event-ID"]),
          .if_none_match = field(http::field::if_none_match),
          .upgrade = field(http::field::upgrade),
          .connection = field(http::field::connection),
          .websocket_key = field(http::field::sec_websocket_key),
          .websocket_version = field(http::field::sec_websocket_version),
          .websocket_protocol = field(http::field::sec_websocket_protocol),
          .authorization = field(http::field::authorization),
          .is_forwarded = is_forwarded(),
          .from = client(),
          .has_length = request.count(http::field::content_length) > 0 ||
                        request.count(http::field::transfer_encoding) > 0};
}

}  // namespace starling::stream
