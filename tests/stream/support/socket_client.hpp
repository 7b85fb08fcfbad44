// SPDX-License-Identifier: Apache-2.0
// A client of a server's WebSocket, written from protocol/README.md. HeldView holds what a screen
// shows, and fails the test if a message breaks the rules of that page.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "starling/knn/words/rectangle.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/socket_codec.hpp"

namespace starling::stream {

/// A message, at an address where FlatBuffers may read it.
using SocketBytes = std::vector<std::byte>;

std::string identifier_of(const SocketBytes& message);

class SocketClient {
 public:
  using Stream = boost::beast::websocket::stream<boost::beast::tcp_stream>;

  struct Options {
    std::string endpoint{};
    std::string origin{};
    std::string host{};       ///< value of Host; empty: the endpoint
    std::string protocols{};  ///< value of Sec-WebSocket-Protocol; empty: none
    int receive_bytes = 0;    ///< size of the system's buffer; 0: the system's choice
  };

  explicit SocketClient(Options options) : options_(std::move(options)) {}
  explicit SocketClient(std::string endpoint)
      : SocketClient(Options{.endpoint = std::move(endpoint)}) {}

  /// Returns the status of the answer: 101 if the socket is open, 0 if there is no answer.
  unsigned connect();
  /// Returns the protocol that the server has chosen, or an empty text.
  const std::string& protocol() const { return protocol_; }
  Stream& stream() { return *stream_; }

  void send(std::span<const std::byte> message);
  void send_text(const std::string& text);
  /// Sends bytes without a frame around them.
  void send_raw(const std::string& bytes);
  /// Returns the next message; empty if the socket has ended or nothing comes for too long.
  SocketBytes receive();
  /// Reads until the server closes. Returns the code with which it closes, or 0 if there is none.
  unsigned read_to_end();

  /// Sends a request about the socket. Returns its number.
  std::uint64_t ask(const protocol::SocketBody& body);
  /// Reads until the reply to a SocketRequest or Request has come, and returns it. Keeps other
  /// messages in others().
  SocketBytes reply(std::uint64_t request_id);
  /// Reads the next message that is no reply.
  SocketBytes next_other();

  std::vector<SocketBytes>& others() { return others_; }

 private:
  template <class Start>
  boost::beast::error_code finish(Start start);

  Options options_;
  std::string protocol_;
  boost::asio::io_context loop_;
  std::unique_ptr<Stream> stream_;
  std::vector<SocketBytes> others_;
  std::uint64_t requests_ = 1'000'000;  ///< the last id of a SocketRequest; ids of Requests are
                                        ///< lower
};

/// The objects and counts of a view, as a client holds them.
class HeldView {
 public:
  struct Object {
    std::uint64_t id = 0;
    std::string name{};
    std::uint16_t x = 0;
    std::uint16_t y = 0;
    std::uint32_t tags = 0;
  };

  explicit HeldView(std::uint64_t view = 0) : view_(view) {}

  /// Applies a ViewTick or ViewRaster. Ignores messages of earlier views.
  void apply(const SocketBytes& message);

  const protocol::ViewHead& head() const { return head_; }
  const std::map<Slot, Object>& objects() const { return objects_; }
  /// The counts of the last message, if it was a raster.
  const std::optional<std::vector<std::uint32_t>>& counts() const { return counts_; }
  std::uint64_t messages() const { return head_.number; }

 private:
  void apply(const protocol::ViewChanges& changes, const std::vector<std::string_view>& names);

  std::uint64_t view_;
  protocol::ViewHead head_{};
  std::map<Slot, Object> objects_;
  std::optional<std::vector<std::uint32_t>> counts_;
};

}  // namespace starling::stream
