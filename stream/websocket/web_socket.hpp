// SPDX-License-Identifier: Apache-2.0
// One WebSocket, with Boost.Beast. It closes the socket after a text message, a message that is too
// long or takes too long, too many pings or pongs, too many frames without content, or silence.
// SocketReader owns it and handles the messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "starling/stream/websocket/message_link.hpp"
#include "starling/stream/websocket/socket_limits.hpp"
#include "starling/stream/websocket/socket_message.hpp"

namespace starling::stream {

/// Limits how fast a connection is read, and counts the bytes. Beast calls the private functions.
class ReadPolicy {
 public:
  void limit(std::size_t bytes_per_s) { left_ = bytes_per_s_ = bytes_per_s; }
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  friend class boost::beast::rate_policy_access;
  std::size_t available_read_bytes() const noexcept { return left_; }
  static std::size_t available_write_bytes() noexcept {
    return std::numeric_limits<std::size_t>::max();
  }
  void transfer_read_bytes(std::size_t count) noexcept {
    left_ -= std::min(count, left_);
    read_bytes_ += count;
  }
  static void transfer_write_bytes(std::size_t) noexcept {}
  void on_timer() noexcept { left_ = bytes_per_s_; }  ///< called once a second

  std::size_t bytes_per_s_ = 0;
  std::size_t left_ = 0;
  std::uint64_t read_bytes_ = 0;
};

class WebSocket final : public MessageLink, public std::enable_shared_from_this<WebSocket> {
 public:
  /// The thread of `socket`'s context calls the handlers. Only this thread may call the functions.
  WebSocket(boost::asio::ip::tcp::socket socket, const SocketLimits& limits, SocketCounts& counts,
            Handlers handlers);

  void start(const std::string& head, std::string_view protocol) override;
  void send(SharedMessage message) override;
  std::size_t waiting_bytes() const override { return waiting_bytes_; }
  void pause() override { is_paused_ = true; }
  void read_on() override;
  void beat(std::int64_t now_us) override;
  void close(Code code, std::string_view reason) override;

 private:
  using Error = boost::beast::error_code;
  using Stream = boost::beast::websocket::stream<
      boost::beast::basic_stream<boost::asio::ip::tcp, boost::asio::any_io_executor, ReadPolicy>>;

  void read();
  void take(const Error& error);
  void write();
  void take_ping();  ///< also takes a pong
  std::uint64_t read_bytes() { return stream_.next_layer().rate_policy().read_bytes(); }
  void break_rule(Code code, std::string_view reason);
  void fail(const Error& error);
  void end();

  const SocketLimits& limits_;
  SocketCounts& counts_;
  Handlers handlers_;
  Stream stream_;
  boost::asio::steady_timer close_deadline_;
  boost::beast::flat_buffer buffer_;
  std::deque<SharedMessage> waiting_;
  std::size_t waiting_bytes_ = 0;
  /// Time when a message was first seen incomplete; 0: no message is incomplete.
  std::int64_t message_since_us_ = 0;
  std::uint64_t content_end_ = 0;      ///< read_bytes() at the last content, ping or pong
  std::int64_t pings_full_at_us_ = 0;  ///< time when the client has its whole burst of pings again
  bool is_open_ = false;
  bool is_reading_ = false;
  bool is_paused_ = false;
  bool is_closing_ = false;
  bool is_ended_ = false;
};

}  // namespace starling::stream
