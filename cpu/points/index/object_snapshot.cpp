// SPDX-License-Identifier: Apache-2.0
// Applies ranges of rows in parallel, and prefetches the data of their slots. The box only grows
// until it is computed again. See object_snapshot.hpp.
#include "starling/cpu/points/index/object_snapshot.hpp"

#include <algorithm>
#include <cstddef>

#include "starling/knn/base/headroom.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t rows_grain = 4096;
constexpr std::size_t prefetch_rows = 16;
// Rows are prefetched earlier than slots: they come from the cache of the core that staged them,
// which takes longer.
constexpr std::size_t far_rows = 96;
constexpr std::size_t rows_a_line = 64 / sizeof(ObjectRow);
constexpr int box_age_max = 32;

}  // namespace

ObjectSnapshot::ObjectSnapshot(const ObjectSnapshot& other)
    : positions_(other.positions_),
      ids_(other.ids_),
      times_us_(other.times_us_),
      tags_(other.tags_),
      box_(other.box_),
      box_age_(other.box_age_),
      alive_count_(other.alive_count_),
      membership_changed_(other.membership_changed_) {}

void ObjectSnapshot::add(std::span<const ObjectBirth> births) {
  std::size_t slots = ids_.size();
  for (const ObjectBirth& birth : births) slots = std::max<std::size_t>(slots, birth.slot + 1);
  resize_with_headroom(positions_, slots, LatticePoint{nowhere, 0, 0});
  resize_with_headroom(times_us_, slots, std::int64_t{0});
  resize_with_headroom(tags_, slots, 0u);
  resize_with_headroom(ids_, slots, ObjectId{});
  for (const ObjectBirth& birth : births) ids_[birth.slot] = birth.id;
}

void ObjectSnapshot::apply(std::span<const ObjectRow> rows, ThreadPool& pool) {
  pool.for_ranges(rows.size(), rows_grain, [&](std::size_t begin, std::size_t end, unsigned) {
    apply_range(rows.subspan(begin, end - begin));
  });
  if (++box_age_ >= box_age_max) draw_box();
}

void ObjectSnapshot::apply_range(std::span<const ObjectRow> rows) {
  Box box;
  {
    const std::lock_guard lock(mutex_);
    box = box_;
  }
  std::uint64_t came = 0;
  std::uint64_t left = 0;
  bool members = false;
  const auto apply = [&](const ObjectRow& row) {
    const bool alive = starling::is_alive(row.generation);
    const bool was_alive = is_alive(row.slot);
    times_us_[row.slot] = row.time_us;
    positions_[row.slot] = row.position;
    if (alive && !box.contains(row.position)) box.add(row.position);
    if (alive && was_alive && tags_[row.slot] == row.tags) return;
    members = members || alive != was_alive || tags_[row.slot] != row.tags;
    came += alive && !was_alive ? 1 : 0;
    left += !alive && was_alive ? 1 : 0;
    tags_[row.slot] = row.tags;
    if (!alive) positions_[row.slot].x = nowhere;
  };
  std::size_t i = 0;
  Slot last_ahead = no_slot;
  for (; i + prefetch_rows < rows.size(); ++i) {
    if (i % rows_a_line == 0 && i + far_rows < rows.size()) prefetch(&rows[i + far_rows]);
    const Slot ahead = rows[i + prefetch_rows].slot;
    if (ahead != last_ahead + 1) {  // the processor prefetches consecutive slots by itself
      prefetch_to_write(&positions_[ahead]);
      prefetch_to_write(&times_us_[ahead]);
      prefetch_to_write(&tags_[ahead]);
    }
    last_ahead = ahead;
    apply(rows[i]);
  }
  for (; i < rows.size(); ++i) apply(rows[i]);
  const std::lock_guard lock(mutex_);
  if (!box.is_empty()) box_.add(box);
  alive_count_ += came;
  alive_count_ -= left;
  membership_changed_ = membership_changed_ || members;
}

void ObjectSnapshot::draw_box() {
  box_ = {};
  box_age_ = 0;
  for (const LatticePoint& position : positions_)
    if (position.x != nowhere) box_.add(position);
}

std::uint64_t ObjectSnapshot::bytes_used() const {
  return positions_.capacity() * sizeof(LatticePoint) + ids_.capacity() * sizeof(ObjectId) +
         times_us_.capacity() * sizeof(std::int64_t) + tags_.capacity() * sizeof(std::uint32_t);
}

}  // namespace starling::cpu
