// SPDX-License-Identifier: Apache-2.0
// WebSockets: requests of the wire, ticks of streams, and views of moving objects
// (protocol/README.md, WebSocket). A thread of its own serves the clients. The loop only hands over
// connections, carries out requests, and shares each tick's frames and rows. Server owns the hub.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/command_socket.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/websocket/socket_limits.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

/// Only the loop calls the functions.
class SocketHub {
 public:
  /// What the hub uses of the server.
  struct Parts {
    boost::asio::io_context& loop;
    SocketLimits limits;
    SpaceOptions space;
    std::uint64_t epoch = 0;
    std::function<std::uint64_t()> random;  ///< numbers that clients cannot guess
    /// Passes an encoded request to the server, as CommandSocket::Handlers::request does. The reply
    /// comes to replied().
    std::function<void(Peer, ReceivedBytes)> deliver;
    /// Returns std::nullopt if there is a stream of this name.
    std::function<std::optional<protocol::Problem>(std::string_view)> fault_of_stream;
    /// Returns the name of an object; empty: it has none. Any thread may call it.
    std::function<std::string_view(ObjectId)> name_of;
    /// Returns whether `objects` would return at once. Otherwise it waits for an update.
    std::function<bool()> is_free;
    std::function<const ObjectTable&()> objects;
  };

  explicit SocketHub(Parts parts);
  /// The loop must not run after the destruction.
  ~SocketHub();

  /// Answers a request for a WebSocket.
  void open(const HttpHead& head, const HttpRespond& respond);
  /// Call this with each reply to a Peer that is `in_process` and has a routing id.
  void replied(const std::string& routing_id, const protocol::Frame& frame);

  /// Returns whether publish() has anything to do.
  bool is_following() const { return !followed_.empty(); }
  /// Takes the message of one stream's tick, if somebody follows the stream. Call it for each tick
  /// in order.
  void publish(const std::string& stream, const protocol::TickHeader& header,
               const protocol::TickMessage& message);
  /// Takes the rows that a tick takes. Call it when the tick begins.
  void take_rows(const Staging& staging, Tick tick, std::int64_t tau_us);
  /// Shows the newest positions. Call it when a tick is published.
  void show();
  /// Ends all connections, and accepts no further one.
  void close();

  const SocketCounts& counts() const;

 private:
  struct State;

  std::string new_reader();
  void deliver(const std::string& reader, std::vector<std::byte> message);
  void follow(const std::string& reader, std::uint64_t request_id, const std::string& stream);
  void unfollow(const std::string& stream);
  void feed(std::uint64_t number);
  void send_rows(bool then_shows);

  Parts parts_;
  std::unique_ptr<State> state_;
  std::map<std::string, unsigned, std::less<>> followed_;  ///< and by how many
  bool is_closed_ = false;
};

}  // namespace starling::stream
