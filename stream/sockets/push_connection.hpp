// SPDX-License-Identifier: Apache-2.0
// A connection on which only the server speaks: it sends texts that many connections share. It
// notices when the peer leaves, and ends if the peer reads nothing for too long. What the peer
// sends is dropped, and a peer that sends much is disconnected. FollowedStream uses it for events.
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
    std::function<void()> sent;   ///< all that was given to send() is with the system
    std::function<void()> ended;  ///< the connection is closed; called once, and no handler after
  };

  /// The loop of `socket` calls the handlers, and only this loop may call the functions.
  PushConnection(boost::asio::ip::tcp::socket socket, Handlers handlers);

  /// Begins to watch for the peer's end. Call it once.
  void start();
  /// Sends the texts one after another. Call it only if is_idle().
  void send(std::vector<Text> texts);
  /// Returns true if nothing is being sent.
  bool is_idle() const { return sending_.empty(); }
  /// Returns when the system last took bytes for the peer, in microseconds of the steady clock.
  std::int64_t progress_us() const { return progress_us_; }
  /// Closes the connection when all that was given to send() is with the system.
  void finish();
  void close();

 private:
  void watch();
  void finish_if_idle();

  static constexpr std::size_t received_bytes_max = 65536;

  boost::asio::ip::tcp::socket socket_;
  Handlers handlers_;
  std::vector<Text> sending_;
  std::vector<boost::asio::const_buffer> buffers_;  ///< the buffers of sending_
  std::int64_t progress_us_;
  std::array<char, 512> received_{};
  std::size_t received_bytes_ = 0;
  bool is_last_ = false;
  bool is_closed_ = false;
};

}  // namespace starling::stream
