// SPDX-License-Identifier: Apache-2.0
// Moves bytes while OpenSSL and the system take or give some, and then waits until one of the two
// sockets is ready: see tls_connection.hpp.
#include "starling/stream/tls/tls_connection.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using Error = boost::system::error_code;

namespace {

/// Send buffer of the client's socket. The system holds at most about twice this number of bytes
/// for a client that does not read.
constexpr int relayed_bytes_max = 256 * 1024;
constexpr int rounds_max = 16;  // after them, other connections have their turn
constexpr std::string_view plain_http_answer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Connection: close\r\n\r\nThis address speaks HTTPS; write https:// in front of it.\n";

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

TlsConnection::TlsConnection(std::shared_ptr<ssl_ctx_st> context, Client client, Server server,
                             const TlsLimits& limits, TlsCounts& counts,
                             std::function<void(TlsConnection*)> ended)
    : context_(std::move(context)),
      client_(std::move(client)),
      server_(std::move(server)),
      limits_(limits),
      counts_(counts),
      ended_(std::move(ended)),
      tls_(SSL_new(context_.get()), SSL_free),
      begun_us_(steady_now_us()),
      progress_us_(begun_us_) {
  ++counts_.connections;
  Error ignored;
  client_.non_blocking(true, ignored);
  server_.non_blocking(true, ignored);
  client_.set_option(asio::ip::tcp::no_delay(true), ignored);
  client_.set_option(asio::socket_base::send_buffer_size(relayed_bytes_max), ignored);
}

TlsConnection::~TlsConnection() {
  --counts_.connections;
}

void TlsConnection::start() {
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), client_.native_handle()) != 1) return close();
  SSL_set_accept_state(tls_.get());
  pump();
}

void TlsConnection::close() {
  if (std::exchange(is_closed_, true)) return;
  if (phase_ == Phase::handshake) ++counts_.failed;
  Error ignored;
  server_.close(ignored);
  client_.close(ignored);
  ended_(this);
}

void TlsConnection::beat(std::int64_t now_us) {
  if (is_closed_) return;
  const bool leftover = is_leftover();
  if (phase_ == Phase::handshake) {
    if (leftover || now_us - begun_us_ >= limits_.handshake_us) close();
    return;
  }
  if (leftover && is_down_ended_) return close();  // the client knows that its answer has ended
  if (!is_down_ending_ && down_->is_empty()) progress_us_ = now_us;
  const std::int64_t limit_us =
      leftover || is_down_ending_ ? limits_.last_bytes_us : limits_.stall_us;
  if (now_us - progress_us_ < limit_us) return;
  if (!is_down_ended_) ++counts_.stalled;
  close();
}

bool TlsConnection::is_leftover() {
  pollfd state{.fd = server_.native_handle(), .events = 0, .revents = 0};
  return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

void TlsConnection::pump() {
  if (is_closed_) return;
  wants_client_read_ = wants_client_write_ = false;
  if (phase_ == Phase::handshake && !shake_hands()) return;
  for (int round = 0; round < rounds_max; ++round) {
    const Step up = pass_up();
    const Step down = up == Step::ended ? Step::ended : pass_down();
    if (down == Step::ended) return close();
    if (up == Step::waits && down == Step::waits) return wait_for_events();
  }
  asio::post(client_.get_executor(), [self = shared_from_this()] { self->pump(); });
}

/// Returns true if the handshake has succeeded. Otherwise the connection waits or is closed.
bool TlsConnection::shake_hands() {
  ERR_clear_error();
  const int result = SSL_accept(tls_.get());
  if (result == 1) {
    phase_ = Phase::open;
    up_ = std::make_unique<Bytes>();
    down_ = std::make_unique<Bytes>();
    progress_us_ = steady_now_us();
    ++counts_.handshakes;
    return true;
  }
  const auto reason = ERR_GET_REASON(ERR_peek_error());
  if (tls_step(result) == Step::ended) {
    if (reason == SSL_R_HTTP_REQUEST) refuse_plain_http();
    close();
    return false;
  }
  wait_for_events();
  return false;
}

void TlsConnection::refuse_plain_http() {
  const int client = client_.native_handle();
  send(client, plain_http_answer.data(), plain_http_answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(client, SHUT_WR);
  std::array<char, 16384> dropped;  // unread bytes would reset the connection, and lose the answer
  recv(client, dropped.data(), dropped.size(), MSG_DONTWAIT);
}

/// Returns what follows from `result`, the result of a call of OpenSSL that has not succeeded.
TlsConnection::Step TlsConnection::tls_step(int result) {
  const int error = SSL_get_error(tls_.get(), result);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ) wants_client_read_ = true;
  if (error == SSL_ERROR_WANT_WRITE) wants_client_write_ = true;
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? Step::waits : Step::ended;
}

TlsConnection::Step TlsConnection::pass_up() {
  Bytes& held = *up_;
  if (!held.is_empty()) {
    const ssize_t sent = send(server_.native_handle(), held.bytes.data() + held.begin,
                              held.end - held.begin, MSG_NOSIGNAL);
    if (sent < 0) return would_block() ? Step::waits : drop_up();
    held.begin += static_cast<std::size_t>(sent);
    return Step::progress;
  }
  if (is_up_ended_) return Step::waits;
  ERR_clear_error();
  const int count = SSL_read(tls_.get(), held.bytes.data(), static_cast<int>(held.bytes.size()));
  if (count > 0) {
    held.begin = 0;
    held.end = static_cast<std::size_t>(count);
    return Step::progress;
  }
  // A client that ends only its own side still gets its answer. An end without a close_notify of
  // TLS may come from an attacker. It does no harm: HTTP/1.1 gives the length of each request, so a
  // cut request is not taken for a whole one.
  const auto reason = ERR_GET_REASON(ERR_peek_error());
  const int error = SSL_get_error(tls_.get(), count);
  if (error == SSL_ERROR_ZERO_RETURN ||
      (error == SSL_ERROR_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)) {
    ERR_clear_error();
    is_up_ended_ = true;
    shutdown(server_.native_handle(), SHUT_WR);
    // After an unexpected end OpenSSL sends no more.
    return error == SSL_ERROR_ZERO_RETURN && !is_down_ended_ ? Step::progress : Step::ended;
  }
  return tls_step(count);
}

/// Call it when HttpServer reads no more. Drops the client's bytes. The bytes that HttpServer has
/// written still go to the client.
TlsConnection::Step TlsConnection::drop_up() {
  if (is_down_ended_) return Step::ended;
  up_->begin = up_->end = 0;
  is_up_ended_ = true;
  return Step::progress;
}

TlsConnection::Step TlsConnection::pass_down() {
  if (is_down_ended_) return Step::waits;
  if (is_down_ending_) return end_down();
  Bytes& held = *down_;
  if (held.is_empty()) {
    const ssize_t count =
        recv(server_.native_handle(), held.bytes.data(), held.bytes.size(), MSG_DONTWAIT);
    // ECONNRESET: HttpServer has closed its side before it had read everything. This is an end,
    // too.
    if (count < 0 && errno != ECONNRESET) return would_block() ? Step::waits : Step::ended;
    if (count <= 0) return end_down();
    held.begin = 0;
    held.end = static_cast<std::size_t>(count);
    progress_us_ = steady_now_us();  // the client's time limit begins
  }
  ERR_clear_error();
  const int sent = SSL_write(tls_.get(), held.bytes.data() + held.begin,
                             static_cast<int>(held.end - held.begin));
  if (sent <= 0) return tls_step(sent);
  held.begin += static_cast<std::size_t>(sent);
  progress_us_ = steady_now_us();
  return Step::progress;
}

/// Sends the client the end of the server's bytes. HttpServer may still read the client's bytes for
/// a while.
TlsConnection::Step TlsConnection::end_down() {
  if (!std::exchange(is_down_ending_, true)) progress_us_ = steady_now_us();
  ERR_clear_error();
  const int result = SSL_shutdown(tls_.get());
  if (result < 0 && tls_step(result) == Step::waits) return Step::waits;
  is_down_ended_ = true;
  progress_us_ = steady_now_us();
  shutdown(client_.native_handle(), SHUT_WR);
  return is_leftover() || is_up_ended_ ? Step::ended : Step::waits;
}

void TlsConnection::wait_for_events() {
  if (wants_client_read_) wait(client_, Client::wait_read, waits_client_read_);
  if (wants_client_write_) wait(client_, Client::wait_write, waits_client_write_);
  if (phase_ == Phase::handshake) return;  // beat() sees if the server closes its side
  if (!up_->is_empty()) wait(server_, Server::wait_write, waits_server_write_);
  if (down_->is_empty() && !is_down_ending_) wait(server_, Server::wait_read, waits_server_read_);
}

template <class Socket, class Kind>
void TlsConnection::wait(Socket& socket, Kind kind, bool& is_waiting) {
  if (std::exchange(is_waiting, true)) return;
  socket.async_wait(kind, [self = shared_from_this(), &is_waiting](const Error& error) {
    is_waiting = false;
    if (!error) self->pump();
  });
}

}  // namespace starling::stream
