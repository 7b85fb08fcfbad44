// SPDX-License-Identifier: Apache-2.0
// A connection on which only the server sends. The texts may be shared by many connections. The
// connection ends when the peer leaves. It drops what the peer sends, and ends if that is more than
// received_bytes_max. FollowedStream uses it for events, and closes it if the peer reads too
// slowly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace starling::stream {

class PushConnection : public std::enable_shared_from_this<PushConnection> {
 public:
  using Text = std::shared_ptr<const std::string>;

  struct Handlers {
    std::function<void()> sent;   ///< the system has taken all bytes of send()
    std::function<void()> ended;  ///< the connection is closed; no handler is called after it
  };

  /// The loop of `socket` calls the handlers, and only this loop may call the functions.
  PushConnection(boost::asio::ip::tcp::socket socket, Handlers handlers);

  /// Begins to read, to notice when the peer leaves. Call it once.
  void start();
  /// Sends the texts one after another. Call it only if is_idle().
  void send(std::vector<Text> texts);
  /// Returns true if nothing is being sent.
  bool is_idle() const { return sending_.empty(); }
  /// Returns when the system last took bytes for the peer, in microseconds of the steady clock.
  std::int64_t progress_us() const { return progress_us_; }
  /// Closes the connection when the system has taken all bytes of send().
  void finish();
  void close();

 private:
  void watch();
  void finish_if_idle();

  static constexpr std::size_t received_bytes_max = 65536;

  boost::asio::ip::tcp::socket socket_;
  Handlers handlers_;
  std::vector<Text> sending_;
  std::vector<boost::asio::const_buffer> buffers_;  ///< views of the texts in sending_
  std::int64_t progress_us_;
  std::array<char, 512> received_{};
  std::size_t received_bytes_ = 0;
  bool is_last_ = false;
  bool is_closed_ = false;
};

}  // namespace starling::stream
