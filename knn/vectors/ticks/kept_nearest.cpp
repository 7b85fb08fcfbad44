// SPDX-License-Identifier: Apache-2.0
// Sets the horizon when entries beyond room_of(k) are removed, and when a scan replaces the
// entries: see kept_nearest.hpp.
#include "starling/knn/vectors/ticks/kept_nearest.hpp"

#include <algorithm>

namespace starling {

void KeptNearest::ask(std::uint32_t k, const Filter& filter) {
  k_ = k;
  limit_ = filter.key_max == Filter::any_distance ? infinity
                                                  : Neighbor{next_key(filter.key_max), ObjectId{0}};
  forget();
}

void KeptNearest::settle() {
  const std::size_t room = room_of(k_);
  if (entries_.size() > room) {
    const auto first_out = entries_.begin() + static_cast<std::ptrdiff_t>(room);
    std::ranges::nth_element(entries_, first_out, {}, &Entry::neighbor);
    horizon_ = first_out->neighbor;
    entries_.erase(first_out, entries_.end());
    // If many scores were equal, very many objects may have been added. Frees their memory.
    if (entries_.capacity() > 4 * room) entries_.shrink_to_fit();
  }
  std::ranges::sort(entries_, {}, &Entry::neighbor);
}

void KeptNearest::take_scan(std::span<const Entry> entries, bool is_all) {
  const Neighbor first_unknown =
      is_all ? infinity : Neighbor{entries.back().neighbor.key, ObjectId{0}};
  know_nobody_before(std::min(first_unknown, limit_));
  for (const Entry& entry : entries) add(entry);
  settle();
}

void KeptNearest::take_within(std::span<const Entry> entries, RankKey key) {
  know_nobody_before(std::min(Neighbor{next_key(key), ObjectId{0}}, limit_));
  for (const Entry& entry : entries) add(entry);
  settle();
}

}  // namespace starling
