#include "cpu/object_snapshot.hpp"

#include <algorithm>
#include <atomic>

namespace starling::cpu {
namespace {

constexpr std::size_t rows_grain = 4096;
constexpr std::size_t prefetch_rows = 16;

}  // namespace

void ObjectSnapshot::add(std::span<const ObjectBirth> births) {
  std::size_t slots = objects_.size();
  for (const ObjectBirth& birth : births) slots = std::max<std::size_t>(slots, birth.slot + 1);
  // An eighth of headroom: growth stays amortised and memory close to what is used.
  if (slots > objects_.capacity()) objects_.reserve(slots + slots / 8);
  objects_.resize(slots);
  for (const ObjectBirth& birth : births) objects_[birth.slot].id = birth.id;
}

void ObjectSnapshot::apply(std::span<const ObjectRow> rows, ThreadPool& pool) {
  std::atomic<std::int64_t> alive_change{0};
  std::atomic<bool> membership_changed{membership_changed_};
  pool.for_ranges(rows.size(), rows_grain, [&](std::size_t begin, std::size_t end, unsigned) {
    std::int64_t change = 0;
    bool members = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + prefetch_rows < end) __builtin_prefetch(&objects_[rows[i + prefetch_rows].slot], 1);
      const ObjectRow& row = rows[i];
      const bool alive = starling::is_alive(row.generation);
      Object& object = objects_[row.slot];
      const bool was_alive = object.time_us != dead;
      change += static_cast<int>(alive) - static_cast<int>(was_alive);
      members = members || alive != was_alive || object.tags != row.tags;
      object.time_us = alive ? row.time_us : dead;
      object.position = row.position;
      object.tags = row.tags;
    }
    alive_change += change;
    if (members) membership_changed = true;
  });
  membership_changed_ = membership_changed;
  alive_count_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(alive_count_) + alive_change);
}

}  // namespace starling::cpu
