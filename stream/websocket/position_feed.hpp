// SPDX-License-Identifier: Apache-2.0
// Sends the positions of objects to the mirror, while a view is shown. First it walks through the
// whole table in parts, so that the loop can do other work in between. After that, it copies the
// rows that each tick takes. If a tick takes more rows than the loop may copy in a millisecond, the
// feed walks through the table again. Until then, the mirror stays complete, but some of its
// positions are newer than its time. SocketHub owns the feed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/engine/staging.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/stream/websocket/position_mirror.hpp"

namespace starling::stream {

/// The last tick whose rows the mirror has.
struct MirrorTime {
  Tick tick{};
  std::int64_t tau_us = 0;
};

struct MirrorState {
  bool is_complete = false;  ///< the mirror has all objects
  bool is_behind = false;    ///< the mirror lacks rows of a tick after `time`
  MirrorTime time{};         ///< the mirror has each object's state at this time, or a newer one
};

/// Only the loop calls the functions.
class PositionFeed {
 public:
  struct Parts {
    boost::asio::io_context& loop;
    std::size_t copied_rows_max = 0;
    /// Returns whether `objects` would return at once. Otherwise, `objects` waits for an update.
    std::function<bool()> is_free;
    std::function<const ObjectTable&()> objects;
    /// Sends rows, which may be null, with the state that the mirror has when it has applied them.
    /// The order of the calls must be kept. The rows of a tick are not urgent: they can wait until
    /// the tick is published.
    std::function<void(std::shared_ptr<const MirrorRows>, const MirrorState&, bool is_urgent)> send;
  };

  explicit PositionFeed(Parts parts) : parts_(std::move(parts)), timer_(parts_.loop) {}

  /// Begins to send: first all objects, then the rows of ticks.
  void begin();
  void end();
  /// Sends the rows that a tick takes, if the feed is on. Call it for each tick.
  void take(const Staging& staging, const MirrorTime& time);

 private:
  MirrorState state() const { return {is_complete_, is_walking_ || needs_walk_, complete_time_}; }
  void walk_again();
  void walk();
  void walk_on();
  void walk_later();
  bool is_behind() const { return *pending_ >= pending_max; }
  std::shared_ptr<MirrorRows> new_rows();

  static constexpr int pending_max = 8;  ///< the most parts that wait for the mirror

  Parts parts_;
  boost::asio::steady_timer timer_;
  ReturnPool<MirrorRows> pool_{pending_max};
  std::shared_ptr<std::atomic<int>> pending_ = std::make_shared<std::atomic<int>>(0);
  MirrorTime time_;           ///< time of the last tick
  MirrorTime walk_time_;      ///< time that the mirror has when the walk ends
  MirrorTime complete_time_;  ///< time that the mirror has
  bool is_on_ = false;
  bool is_complete_ = false;
  bool is_walking_ = false;
  bool needs_walk_ = false;
  unsigned waits_ = 0;
  std::size_t next_slot_ = 0;
};

}  // namespace starling::stream
