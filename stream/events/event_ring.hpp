// SPDX-License-Identifier: Apache-2.0
// The last ticks of one stream, as events. The JSON of a tick is made when the first reader needs
// it, once for all readers. The ring limits what is held for slow readers: a reader whose next tick
// was dropped needs a new snapshot. FollowedStream owns a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/events/event_text.hpp"
#include "starling/stream/events/list_text.hpp"

namespace starling::stream {

class EventRing {
 public:
  EventRing(const ListForm& form, std::size_t bytes_max, std::size_t ticks_max)
      : form_(form), bytes_max_(bytes_max), ticks_max_(ticks_max) {}

  /// Adds the message of the stream's next tick. The message shares its frames with the results
  /// socket.
  void push(std::uint64_t sequence, protocol::TickMessage message);
  /// Notes that the message of a tick is lost. The ring then holds nothing.
  void lose(std::uint64_t sequence);

  /// Returns true until the first push() or lose().
  bool is_new() const { return end_ == 0; }
  /// Returns whether the ring holds all events from number `next` on. True also if the newest event
  /// is `next` - 1.
  bool covers(std::uint64_t next) const { return !is_new() && next >= first() && next <= end_; }
  /// The numbers from first() to end() - 1 are those of the events in the ring.
  std::uint64_t first() const { return end_ - ticks_.size(); }
  std::uint64_t end() const { return end_; }
  /// Bytes of the messages and JSON in the ring.
  std::size_t bytes() const { return bytes_; }

  /// Returns the event of this number, from first() to end() - 1. If its JSON would be too long,
  /// drops it and all earlier events, and returns null.
  EventText event(std::uint64_t sequence);

 private:
  struct Entry {
    std::size_t bytes = 0;
    protocol::TickMessage message{};  ///< empty when `text` is made
    EventText text{};
  };

  EventText make(const protocol::TickMessage& message) const;
  void drop_oldest();
  void limit();

  const ListForm& form_;
  std::size_t bytes_max_;
  std::size_t ticks_max_;
  std::deque<Entry> ticks_;
  std::uint64_t end_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace starling::stream
