#include "cpu/object_snapshot.hpp"

#include <algorithm>
#include <atomic>

namespace starling::cpu {
namespace {

constexpr std::size_t rows_grain = 4096;

// An eighth of headroom: growth stays amortised and memory close to what is used.
template <class T>
void grow_to(std::vector<T>& values, std::size_t count, T fill) {
  if (count > values.capacity()) values.reserve(count + count / 8);
  values.resize(count, fill);
}

}  // namespace

void ObjectSnapshot::add(std::span<const ObjectBirth> births) {
  Slot slots = static_cast<Slot>(ids_.size());
  for (const ObjectBirth& birth : births) slots = std::max(slots, birth.slot + 1);
  grow(slots);
  for (const ObjectBirth& birth : births) ids_[birth.slot] = birth.id;
}

void ObjectSnapshot::apply(std::span<const ObjectRow> rows, ThreadPool& pool) {
  std::atomic<std::int64_t> alive_change{0};
  pool.for_ranges(rows.size(), rows_grain, [&](std::size_t begin, std::size_t end, unsigned) {
    std::int64_t change = 0;
    for (const ObjectRow& row : rows.subspan(begin, end - begin)) {
      const bool alive = starling::is_alive(row.generation);
      change += static_cast<int>(alive) - static_cast<int>(is_alive(row.slot));
      std::int32_t* at = &coordinates_[row.slot * dimensions_];
      at[0] = row.position.x;
      at[1] = row.position.y;
      if (dimensions_ == 3) at[2] = row.position.z;
      tags_[row.slot] = row.tags;
      times_us_[row.slot] = alive ? row.time_us : dead;
    }
    alive_change += change;
  });
  alive_count_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(alive_count_) + alive_change);
}

void ObjectSnapshot::grow(std::size_t slots) {
  grow_to(coordinates_, slots * dimensions_, 0);
  grow_to(tags_, slots, 0u);
  grow_to(times_us_, slots, dead);
  grow_to(ids_, slots, ObjectId{});
}

std::uint64_t ObjectSnapshot::bytes_used() const {
  return coordinates_.capacity() * sizeof(std::int32_t) + tags_.capacity() * sizeof(std::uint32_t) +
         times_us_.capacity() * sizeof(std::int64_t) + ids_.capacity() * sizeof(ObjectId);
}

}  // namespace starling::cpu
