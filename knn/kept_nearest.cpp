#include "knn/kept_nearest.hpp"

#include <algorithm>

namespace starling {

void KeptNearest::ask(std::uint32_t k, const Filter& filter) {
  k_ = k;
  limit_ = filter.distance_sq_max == Filter::any_distance
               ? infinity
               : Neighbor{filter.distance_sq_max + 1, ObjectId{0}};
  forget();
}

void KeptNearest::settle() {
  std::ranges::sort(entries_, {}, &Entry::neighbor);
  const std::size_t room = room_of(k_);
  if (entries_.size() <= room) return;
  horizon_ = entries_[room].neighbor;
  entries_.resize(room);
}

void KeptNearest::take_scan(std::span<const Entry> entries, bool is_all) {
  const Neighbor first_unknown =
      is_all ? infinity : Neighbor{entries.back().neighbor.distance_sq, ObjectId{0}};
  know_nobody_before(std::min(first_unknown, limit_));
  for (const Entry& entry : entries) add(entry);
  settle();
}

void KeptNearest::take_within(std::span<const Entry> entries, std::uint64_t distance_sq) {
  know_nobody_before(std::min(Neighbor{distance_sq + 1, ObjectId{0}}, limit_));
  for (const Entry& entry : entries) add(entry);
  settle();
}

}  // namespace starling
