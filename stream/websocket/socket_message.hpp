// SPDX-License-Identifier: Apache-2.0
// A message that is sent over WebSockets. It shares the frames of the wire, so that one tick of a
// stream is in memory once for all sockets that follow the stream. SocketReader sends the messages.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/tick_message.hpp"

namespace starling::stream {

class SocketMessage {
 public:
  explicit SocketMessage(protocol::Frame frame);
  /// Puts all frames of a stream's tick into one message: see protocol/README.md, Follow.
  explicit SocketMessage(protocol::TickMessage tick);
  SocketMessage(const SocketMessage&) = delete;
  SocketMessage& operator=(const SocketMessage&) = delete;

  std::size_t bytes() const { return bytes_; }
  const std::vector<boost::asio::const_buffer>& buffers() const { return buffers_; }

 private:
  void add(boost::asio::const_buffer buffer);
  void add_padding();

  std::string head_;
  protocol::TickMessage tick_;
  protocol::Frame frame_;
  std::vector<boost::asio::const_buffer> buffers_;
  std::size_t bytes_ = 0;
};

using SharedMessage = std::shared_ptr<const SocketMessage>;

}  // namespace starling::stream
