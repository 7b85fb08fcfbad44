// SPDX-License-Identifier: Apache-2.0
// Drops the oldest ticks beyond the limits: see event_ring.hpp.
#include "starling/stream/events/event_ring.hpp"

#include <new>
#include <utility>
#include <vector>

#include "starling/protocol/wire/frame.hpp"

namespace starling::stream {

void EventRing::push(std::uint64_t sequence, protocol::TickMessage message) {
  if (!is_new() && sequence < end_) return;
  if (sequence != end_) lose(sequence - 1);
  const std::size_t bytes = message.bytes();
  ticks_.push_back({.bytes = bytes, .message = std::move(message)});
  bytes_ += bytes;
  end_ = sequence + 1;
  limit();
}

void EventRing::lose(std::uint64_t sequence) {
  ticks_.clear();
  bytes_ = 0;
  end_ = sequence + 1;
}

EventText EventRing::event(std::uint64_t sequence) {
  Entry& entry = ticks_[sequence - first()];
  if (entry.text) return entry.text;
  EventText text = make(entry.message);
  if (text == nullptr) {
    while (first() <= sequence) drop_oldest();
    return nullptr;
  }
  entry.text = text;
  entry.message = {};
  bytes_ += text->size() - entry.bytes;
  entry.bytes = text->size();
  limit();
  return text;
}

EventText EventRing::make(const protocol::TickMessage& message) const {
  try {
    std::vector<protocol::AlignedBytes> frames;
    frames.emplace_back(message.header.bytes());
    for (const protocol::Frame& chunk : message.chunks) frames.emplace_back(chunk.bytes());
    const protocol::DecodedTick tick = protocol::decode_tick(frames);
    return tick.problem ? nullptr : tick_event(tick, form_, bytes_max_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void EventRing::drop_oldest() {
  bytes_ -= ticks_.front().bytes;
  ticks_.pop_front();
}

void EventRing::limit() {
  while (!ticks_.empty() && (bytes_ > bytes_max_ || ticks_.size() > ticks_max_)) drop_oldest();
}

}  // namespace starling::stream
