// SPDX-License-Identifier: Apache-2.0
// A connection on which only the server sends. The texts may be shared by many connections. The
// connection ends when the peer leaves. It drops what the peer sends, and ends if that is more than
// received_bytes_max. FollowedStream uses it for events, and closes it if the peer reads too
// slowly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "starling/stream/sockets/push_link.hpp"

namespace starling::stream {

class PushConnection final : public PushLink, public std::enable_shared_from_this<PushConnection> {
 public:
  /// The loop of `socket` calls the handlers, and only this loop may call the functions.
  PushConnection(boost::asio::ip::tcp::socket socket, Handlers handlers);

  void start() override;
  void send(std::vector<Text> texts) override;
  bool is_idle() const override { return sending_.empty(); }
  std::int64_t progress_us() const override { return progress_us_; }
  void finish() override;
  void close() override;

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
