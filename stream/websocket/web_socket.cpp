// SPDX-License-Identifier: Apache-2.0
// Reads and writes messages with Boost.Beast: see web_socket.hpp. Beast checks the frames and
// answers pings.
#include "starling/stream/websocket/web_socket.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

constexpr std::size_t read_at_once_bytes = 65'536;
constexpr std::size_t empty_bytes_max = 65'536;  // of successive frames without content
constexpr std::chrono::seconds handshake_time{5};
// Send buffer of the socket. The system holds at most about twice this number of bytes for a client
// that does not read.
constexpr int unread_bytes_max = 256 * 1024;

bool is_bad_frame(const beast::error_code& error) {
  return error == websocket::condition::protocol_violation ||
         error == websocket::error::message_too_big;
}

}  // namespace

WebSocket::WebSocket(asio::ip::tcp::socket socket, const SocketLimits& limits, SocketCounts& counts,
                     Handlers handlers)
    : limits_(limits),
      counts_(counts),
      handlers_(std::move(handlers)),
      stream_(std::move(socket)),
      close_deadline_(stream_.get_executor()),
      buffer_(limits.message_bytes_max + read_at_once_bytes) {
  auto& connection = stream_.next_layer();
  connection.rate_policy().limit(limits.received_bytes_per_s);
  Error ignored;
  connection.socket().set_option(asio::socket_base::send_buffer_size(unread_bytes_max), ignored);
  connection.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream_.set_option(
      websocket::stream_base::timeout{.handshake_timeout = handshake_time,
                                      .idle_timeout = std::chrono::microseconds(limits.idle_us),
                                      .keep_alive_pings = true});
  stream_.read_message_max(limits.message_bytes_max);
  stream_.auto_fragment(false);
  stream_.binary(true);
}

void WebSocket::start(const std::string& head, std::string_view protocol) {
  if (!protocol.empty())
    stream_.set_option(websocket::stream_base::decorator(
        [name = std::string(protocol)](websocket::response_type& answer) {
          answer.set(beast::http::field::sec_websocket_protocol, name);
        }));
  stream_.control_callback([this](websocket::frame_type kind, auto) {
    if (kind != websocket::frame_type::close) take_ping();
  });
  stream_.async_accept(asio::buffer(head), [self = shared_from_this()](const Error& error) {
    if (error || self->is_closing_) return self->end();
    self->is_open_ = true;
    self->read();
    self->write();
  });
}

void WebSocket::read_on() {
  is_paused_ = false;
  if (is_open_ && !is_reading_ && !is_closing_) read();
}

void WebSocket::read() {
  is_reading_ = true;
  stream_.async_read_some(
      buffer_, read_at_once_bytes,
      [self = shared_from_this()](const Error& error, std::size_t) { self->take(error); });
}

void WebSocket::take(const Error& error) {
  is_reading_ = false;
  content_end_ = read_bytes();
  if (error) return fail(error);
  if (!stream_.got_binary()) return break_rule(Code::unknown_data, "every message must be binary");
  if (stream_.is_message_done()) {
    message_since_us_ = 0;
    const auto received = buffer_.data();
    const auto* begin = static_cast<const std::byte*>(received.data());
    std::vector<std::byte> message(begin, begin + received.size());
    buffer_.clear();
    if (!is_closing_) handlers_.received(std::move(message));
  }
  if (is_closing_ || !is_paused_) read();  // a closing socket reads until its client has closed too
}

void WebSocket::send(SharedMessage message) {
  if (is_closing_ || is_ended_) return;
  waiting_bytes_ += message->bytes();
  waiting_.push_back(std::move(message));
  if (waiting_.size() == 1 && is_open_) write();
}

void WebSocket::write() {
  if (waiting_.empty() || is_closing_) return;
  stream_.async_write(waiting_.front()->buffers(),
                      [self = shared_from_this()](const Error& error, std::size_t bytes) {
                        if (error) return self->fail(error);
                        ++self->counts_.messages;
                        self->counts_.bytes += bytes;
                        self->waiting_bytes_ -= self->waiting_.front()->bytes();
                        self->waiting_.pop_front();
                        if (self->is_closing_) return;
                        self->write();
                        if (self->waiting_.empty()) self->handlers_.sent();
                      });
}

void WebSocket::take_ping() {
  content_end_ = read_bytes();
  const std::int64_t now_us = steady_now_us();
  const std::int64_t burst_us = limits_.ping_us * limits_.pings_burst;
  pings_full_at_us_ = std::max(pings_full_at_us_, now_us) + limits_.ping_us;
  if (pings_full_at_us_ > now_us + burst_us)
    break_rule(Code::policy_error, "too many pings or pongs");
}

void WebSocket::beat(std::int64_t now_us) {
  if (!is_open_ || is_closing_) return;
  // Without this limit, Beast would read empty fragments of a message forever.
  if (read_bytes() - content_end_ > empty_bytes_max)
    return break_rule(Code::policy_error, "too many frames without content");
  if (stream_.is_message_done())
    message_since_us_ = 0;
  else if (message_since_us_ == 0)
    message_since_us_ = now_us;
  else if (now_us - message_since_us_ > limits_.message_us)
    break_rule(Code::policy_error, "a message takes too long");
}

void WebSocket::break_rule(Code code, std::string_view reason) {
  if (is_closing_) return;
  ++counts_.broken_rules;
  close(code, reason);
}

void WebSocket::close(Code code, std::string_view reason) {
  if (std::exchange(is_closing_, true) || is_ended_) return;
  if (!is_open_) return end();
  close_deadline_.expires_after(std::chrono::microseconds(limits_.close_us));
  close_deadline_.async_wait([self = shared_from_this()](const Error& error) {
    if (!error) self->end();
  });
  // The close frame waits for the message that is being sent.
  stream_.async_close(
      websocket::close_reason(code, beast::string_view(reason.data(), reason.size())),
      [self = shared_from_this()](const Error&) { self->end(); });
  if (!is_reading_) read();
}

void WebSocket::fail(const Error& error) {
  if (is_bad_frame(error) && !is_closing_) ++counts_.broken_rules;
  if (error == beast::error::timeout) ++counts_.stalled;
  end();
}

void WebSocket::end() {
  is_closing_ = true;
  is_open_ = false;
  if (std::exchange(is_ended_, true)) return;
  close_deadline_.cancel();
  Error ignored;
  stream_.next_layer().socket().close(ignored);
  handlers_.ended();
}

}  // namespace starling::stream
