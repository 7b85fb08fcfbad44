// SPDX-License-Identifier: Apache-2.0
// Copies staged rows, and reads the table of objects in parts: see position_feed.hpp.
#include "starling/stream/websocket/position_feed.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace starling::stream {

namespace {

constexpr std::size_t slots_at_once = 32'768;  // takes 0.15 ms of the loop
constexpr std::chrono::milliseconds retry_time{1};
constexpr unsigned waits_max = 5;  // after them, the loop waits for the update

}  // namespace

void PositionFeed::begin() {
  is_on_ = true;
  is_complete_ = false;
  walk_again();
}

void PositionFeed::end() {
  is_on_ = false;
  is_walking_ = false;
  timer_.cancel();
}

std::shared_ptr<MirrorRows> PositionFeed::new_rows() {
  ++*pending_;
  // The rows count as waiting until their last owner is gone.
  auto held = std::make_shared<std::pair<ReturnPool<MirrorRows>::Owned, std::shared_ptr<void>>>(
      pool_.take_owned(),
      std::shared_ptr<void>(nullptr, [pending = pending_](void*) { --*pending; }));
  held->first->births.clear();
  held->first->rows.clear();
  return {held, held->first.get()};
}

void PositionFeed::take(const Staging& staging, const MirrorTime& time) {
  time_ = time;
  if (!is_on_) return;
  if (staging.objects.size() > parts_.copied_rows_max || is_behind()) return walk_again();
  const auto rows = new_rows();
  rows->births.assign(staging.births.begin(), staging.births.end());
  rows->rows.assign(staging.objects.begin(), staging.objects.end());
  if (!needs_walk_) (is_walking_ ? walk_time_ : complete_time_) = time;
  parts_.send(rows, state(), false);
}

void PositionFeed::walk_again() {
  needs_walk_ = true;
  parts_.send(nullptr, state(), true);
  if (!is_walking_) walk();
}

void PositionFeed::walk() {
  needs_walk_ = false;
  is_walking_ = true;
  walk_time_ = time_;
  next_slot_ = 0;
  walk_later();
}

void PositionFeed::walk_later() {
  if (is_behind() || (!parts_.is_free() && waits_ < waits_max)) {
    ++waits_;
    timer_.expires_after(retry_time);
    return timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error && is_walking_) walk_on();
    });
  }
  // The expired timer lets other handlers run first, and end() can cancel it.
  timer_.expires_after(std::chrono::seconds(0));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && is_walking_) walk_on();
  });
}

void PositionFeed::walk_on() {
  if (is_behind() || (!parts_.is_free() && waits_ < waits_max)) return walk_later();
  waits_ = 0;
  const ObjectTable& objects = parts_.objects();
  const auto rows = new_rows();
  const std::size_t end = std::min<std::size_t>(next_slot_ + slots_at_once, objects.slot_end());
  for (; next_slot_ < end; ++next_slot_) {
    const auto slot = static_cast<Slot>(next_slot_);
    ObjectRow row;
    row.slot = slot;
    if (objects.is_alive(slot)) {
      const LiveObject object = objects.object_at(slot);
      row.generation = 1;  // odd: alive
      row.tags = object.tags;
      row.position = object.position;
    }
    // A dead object keeps its id, and may come back without a birth.
    rows->births.push_back({.slot = slot, .id = objects.id_at(slot)});
    rows->rows.push_back(row);
  }
  const bool is_last = next_slot_ >= objects.slot_end();
  if (is_last) {
    is_walking_ = false;
    is_complete_ = true;
    complete_time_ = walk_time_;
  }
  parts_.send(rows, state(), true);
  if (!is_last) return walk_later();
  if (needs_walk_) walk();
}

}  // namespace starling::stream
