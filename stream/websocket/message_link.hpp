// SPDX-License-Identifier: Apache-2.0
// A connection that carries messages, as SocketReader uses it: an interface, so that tests have
// clients without sockets. WebSocket is the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/websocket/rfc6455.hpp>

#include "starling/stream/websocket/socket_limits.hpp"
#include "starling/stream/websocket/socket_message.hpp"

namespace starling::stream {

class MessageLink {
 public:
  struct Handlers {
    std::function<void(std::vector<std::byte>)> received;
    std::function<void()> sent;   ///< the system has taken all bytes of send()
    std::function<void()> ended;  ///< the connection is closed; no handler is called after it
  };
  /// Makes a connection of one that was handed over. Call it once, on the thread that serves it.
  /// The limits and the counts must outlive the connection.
  using Make =
      std::function<std::shared_ptr<MessageLink>(const SocketLimits&, SocketCounts&, Handlers)>;
  /// Why the server closes a socket: the codes of RFC 6455.
  using Code = boost::beast::websocket::close_code;

  virtual ~MessageLink() = default;
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  /// Answers the request, and begins to read. `head` is the head of the request, and may have bytes
  /// of frames after it. `protocol` is the subprotocol that the answer names; empty: it names none.
  virtual void start(const std::string& head, std::string_view protocol) = 0;
  /// Queues a message. The caller must limit waiting_bytes().
  virtual void send(SharedMessage message) = 0;
  /// Returns the bytes of the messages that are queued or being sent.
  virtual std::size_t waiting_bytes() const = 0;
  /// Reads no further message until read_on().
  virtual void pause() = 0;
  virtual void read_on() = 0;
  /// Closes the socket if a message takes too long, or after too many frames without content. Call
  /// it a few times a second.
  virtual void beat(std::int64_t now_us) = 0;
  /// Sends a close frame. Closes the socket when the client has answered it, or after close_us.
  virtual void close(Code code, std::string_view reason) = 0;

 protected:
  MessageLink() = default;
};

}  // namespace starling::stream
