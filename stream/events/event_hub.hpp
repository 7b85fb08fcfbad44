// SPDX-License-Identifier: Apache-2.0
// Streams over HTTP: their lists as one answer, and their ticks as Server-Sent Events. The hub's
// own thread makes the JSON and serves the readers of events, so that many or slow readers do not
// delay a tick. The loop only hands over connections, and the ticks of streams that have readers.
// Server owns the EventHub.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/events/event_limits.hpp"
#include "starling/stream/http/stream_questions.hpp"
#include "starling/stream/http/wire_gateway.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/sockets/push_link.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

class FollowedStream;

/// Only the loop calls the functions.
class EventHub {
 public:
  /// What the hub uses of the server.
  struct Parts {
    boost::asio::io_context& loop;
    EventLimits limits;
    PlaceQuota quota;  ///< the most readers of a principal; may be empty
    Space space = Space::planar2;
    std::uint64_t epoch = 0;
    /// The runs of the server's log, the newest first.
    std::function<std::vector<protocol::Run>()> runs = [] { return std::vector<protocol::Run>(); };
    /// WireGateway's functions of the same names. `send` also gets the principal that asks.
    std::function<void(zmtp::PrincipalId, WireGateway::Make, WireGateway::Take, WireSender)> send;
    std::function<std::shared_ptr<const void>()> reply_owner;
    /// Returns the refusal of a request that names this stream; std::nullopt: the stream exists.
    std::function<std::optional<protocol::Problem>(std::string_view)> fault_of_stream;
    /// Returns the name of an object; empty: the object has no name. Any thread may call it.
    std::function<std::string_view(ObjectId)> name_of;
  };

  /// Where the readers are served.
  struct Beside {
    Executor& thread;
    /// Passes a connection to the thread. The loop calls it. Returns an empty function if the
    /// connection is broken.
    std::function<PushLink::Make(HandedOver)> move;
  };

  explicit EventHub(Parts parts);
  /// A hub without a thread and sockets of its own, for tests.
  EventHub(Parts parts, Beside beside);
  /// The loop must not run after the destruction.
  ~EventHub();

  /// Answers with the lists that the stream holds now.
  void get_lists(ListsQuestion question, HttpRespond respond);
  /// Answers with the stream's events. Refuses the reader if it gets no place (Places).
  void get_events(EventsQuestion question, HttpRespond respond);

  /// Returns whether publish() has anything to do.
  bool is_following() const { return !followed_.empty(); }
  /// Takes the message of one stream's tick, if the stream has readers. Call it for each tick in
  /// order.
  void publish(std::string_view stream, const protocol::TickHeader& header,
               const protocol::TickMessage& message);
  /// Forgets streams that have had no reader for EventLimits::linger_us. Call it about once a
  /// second.
  void expire(std::int64_t now_us);
  /// Ends the connections of the principals for which `is_meant` returns true.
  void cut(const std::function<bool(zmtp::PrincipalId)>& is_meant);
  /// Ends all connections, and accepts no further reader.
  void close();

  const EventCounts& counts() const;
  const Places& places() const { return *places_; }

 private:
  struct Thread;
  struct Followed;
  using Streams = std::map<std::string, std::unique_ptr<Followed>, std::less<>>;

  Followed& follow(const std::string& stream);
  void fetch(const std::weak_ptr<FollowedStream>& stream, const ListsReader& reader);
  void forget_longest_idle();
  void leave(Streams::iterator entry);
  void forget(Streams::iterator entry);

  Parts parts_;
  /// Shared, because an answer that the loop still holds may outlive the hub.
  std::shared_ptr<Places> places_;
  std::uint64_t last_reader_ = 0;  ///< number of the last reader
  std::unique_ptr<Thread> thread_;
  Streams followed_;
  std::uint64_t cuts_ = 0;  ///< number of calls of cut()
  bool is_closed_ = false;
};

}  // namespace starling::stream
