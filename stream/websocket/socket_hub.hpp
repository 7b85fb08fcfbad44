// SPDX-License-Identifier: Apache-2.0
// WebSockets: requests of the wire, ticks of streams, and views of moving objects
// (protocol/README.md, WebSocket). The hub's own thread serves the clients. The loop only hands
// over connections, carries out requests, and shares each tick's frames and rows. Server owns the
// hub.
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
#include "starling/protocol/wire/socket_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/websocket/message_link.hpp"
#include "starling/stream/websocket/socket_limits.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

class OwnThread;

/// Only the loop calls the functions.
class SocketHub {
 public:
  /// What the hub uses of the server.
  struct Parts {
    boost::asio::io_context& loop;
    SocketLimits limits;
    PlaceQuota quota;  ///< the most sockets of a principal; may be empty
    SpaceOptions space;
    std::uint64_t epoch = 0;
    /// Passes an encoded request to the server, as CommandSocket::Handlers::request does. The
    /// server passes the reply to replied().
    std::function<void(Peer, ReceivedBytes)> deliver;
    /// Returns the refusal of a request that names this stream; std::nullopt: the stream exists.
    std::function<std::optional<protocol::Problem>(std::string_view)> fault_of_stream;
    /// Returns why the principal may not send the request; std::nullopt: it may. `reader` is
    /// Peer::connection. The hub's thread calls it.
    std::function<std::optional<protocol::Problem>(std::uint64_t reader, zmtp::PrincipalId,
                                                   const protocol::SocketBody&)>
        refusal_of;
    /// Returns the name of an object; empty: the object has no name. Any thread may call it.
    std::function<std::string_view(ObjectId)> name_of;
    /// Returns whether `objects` would return at once. Otherwise, `objects` waits for an update.
    std::function<bool()> is_free;
    std::function<const ObjectTable&()> objects;
  };

  /// Where the clients are served.
  struct Beside {
    Executor& thread;
    /// Passes a connection to the thread. The loop calls it. Returns an empty function if the
    /// connection is broken.
    std::function<MessageLink::Make(HandedOver)> move;
  };

  explicit SocketHub(Parts parts);
  /// A hub without a thread and sockets of its own, for tests.
  SocketHub(Parts parts, Beside beside);
  /// The loop must not run after the destruction.
  ~SocketHub();

  /// Answers a request for a WebSocket, and hands its connection to the thread.
  void open(const HttpHead& head, const HttpRespond& respond);
  /// Call this with each reply to a Peer that is `in_process` and has a connection.
  void replied(std::uint64_t reader, const protocol::Frame& frame);

  /// Returns whether publish() has anything to do.
  bool is_following() const { return !followed_.empty(); }
  /// Takes the message of one stream's tick, if a socket follows the stream. Call it for each tick
  /// in order.
  void publish(const std::string& stream, const protocol::TickHeader& header,
               const protocol::TickMessage& message);
  /// Sends the rows that a tick takes to the views. Call it when the tick begins.
  void take_rows(const Staging& staging, Tick tick, std::int64_t tau_us);
  /// Shows the newest positions. Call it when a tick is published.
  void show();
  /// Ends the connections of the principals for which `is_meant` returns true.
  void cut(const std::function<bool(zmtp::PrincipalId)>& is_meant);
  /// Ends all connections, and accepts no further connection.
  void close();

  const SocketCounts& counts() const;
  const Places& places() const { return *places_; }

 private:
  struct State;

  void begin(Beside beside, std::unique_ptr<OwnThread> own);
  std::uint64_t new_reader();
  void deliver(const Peer& peer, std::vector<std::byte> message);
  void follow(std::uint64_t reader, std::uint64_t request_id, const std::string& stream);
  void unfollow(const std::string& stream);
  void feed(std::uint64_t number);
  void send_rows(bool then_shows);

  Parts parts_;
  /// Shared, because an answer that the loop still holds may outlive the hub.
  std::shared_ptr<Places> places_;
  std::unique_ptr<State> state_;
  /// Number of sockets that follow each stream.
  std::map<std::string, unsigned, std::less<>> followed_;
  std::uint64_t readers_ = 0;  ///< number of readers since the start
  std::uint64_t cuts_ = 0;     ///< number of calls of cut()
  bool is_closed_ = false;
};

}  // namespace starling::stream
