// SPDX-License-Identifier: Apache-2.0
// One stream and its readers of events. A new reader gets a snapshot and then each tick. A reader
// that reconnects goes on after its last event, if the ring still holds the next event. Otherwise
// it gets a gap and a new snapshot. EventHub owns the streams, and calls them on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/events/event_limits.hpp"
#include "starling/stream/events/event_ring.hpp"
#include "starling/stream/events/event_text.hpp"
#include "starling/stream/events/list_text.hpp"
#include "starling/stream/events/snapshot_fetch.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/sockets/push_link.hpp"

namespace starling::stream {

class FollowedStream : public std::enable_shared_from_this<FollowedStream> {
 public:
  struct Parts {
    Executor& executor;  ///< the thread
    const EventLimits& limits;
    const ListForm& form;
    EventCounts& counts;
    std::uint64_t epoch = 0;
    std::vector<protocol::Run> runs{};  ///< the runs of the server's log, the newest first
    /// Asks for a snapshot for a reader, with its rights. take() of the stream gets the snapshot
    /// later.
    std::function<void(std::weak_ptr<FollowedStream>, const ListsReader&)> fetch;
  };

  FollowedStream(std::string name, Parts parts);

  const std::string& name() const { return name_; }
  /// Returns true if the stream is removed and all readers have left.
  bool is_over() const { return is_removed_ && readers_.empty(); }

  /// Adds a reader whose connection has sent the head of the answer. `slot` is released when the
  /// reader leaves.
  void add(const PushLink::Make& connection, std::uint64_t number, const ListsReader& who,
           std::string_view last_event_id, std::shared_ptr<const void> slot);
  /// Takes the message of the stream's next tick. Without a message, the tick is lost.
  void publish(const protocol::TickHeader& header, std::optional<protocol::TickMessage> message);
  void take(const SnapshotFetch::Result& result);
  /// Disconnects readers that stall, sends heartbeats, and tries again to get a snapshot. Call it a
  /// few times a second.
  void beat(std::int64_t now_us);
  /// Ends the connections of the principals for which `is_meant` returns true.
  void cut(const std::function<bool(zmtp::PrincipalId)>& is_meant);
  /// Ends the connection of the reader with this number. Does nothing if it is of another stream.
  void cut(std::uint64_t number);
  /// Ends all connections.
  void close();

 private:
  struct Reader {
    std::uint64_t number = 0;
    ListsReader who{};
    std::shared_ptr<PushLink> connection{};
    std::shared_ptr<const void> slot{};
    std::optional<std::uint64_t> last{};  ///< number of the last event that it got
    bool has_restarted = false;           ///< its last event is of another run of the server
    bool needs_snapshot = true;
    bool is_ending = false;
  };
  /// A snapshot that readers may get.
  struct Ready {
    std::uint64_t sequence = 0;
    std::vector<EventText> events;
  };

  void flush_soon();
  void flush();
  void serve_all();
  void serve(Reader& reader);
  std::vector<EventText> next_events(Reader& reader);
  std::vector<EventText> catch_up(Reader& reader);
  void append_gap(Reader& reader, std::vector<EventText>& texts);
  void send(Reader& reader, std::vector<EventText> texts);
  void end(Reader& reader, EventText last);
  void want_snapshot(const Reader& reader);
  void forget_old_snapshot();

  std::string name_;
  Parts parts_;
  EventRing ring_;
  std::uint64_t flushed_end_ = 0;  ///< readers get events before this number
  std::int64_t flushed_us_ = 0;    ///< time of the last flush, by the executor's clock
  bool is_flush_due_ = false;
  std::unique_ptr<Timer> flush_timer_;
  std::unordered_map<PushLink*, std::shared_ptr<Reader>> readers_;
  std::optional<Ready> snapshot_;
  bool is_fetching_ = false;
  /// Time of the executor's clock at which a snapshot may be fetched again.
  std::int64_t retry_us_ = 0;
  bool is_removed_ = false;
};

}  // namespace starling::stream
