// SPDX-License-Identifier: Apache-2.0
// Keeps tombstones sorted by time, and finds the tombstone of a slot: see departures.hpp.
#include "starling/knn/tables/departures.hpp"

namespace starling {

bool Departures::bury(std::int64_t forget_at_us, std::size_t& objects_max,
                      const std::function<bool(Slot)>& has_left) {
  for (; !leavers_.empty(); --objects_max) {
    if (objects_max == 0) return false;
    const Slot slot = *leavers_.begin();
    leavers_.erase(leavers_.begin());
    if (!has_left(slot)) continue;
    const auto [known, is_new] = forget_at_us_.try_emplace(slot, forget_at_us);
    if (!is_new) tombstones_.erase({known->second, slot});
    known->second = forget_at_us;
    tombstones_.insert(tombstones_.end(), {forget_at_us, slot});
  }
  return true;
}

bool Departures::forget_due(std::int64_t tau_us, std::size_t& objects_max,
                            const std::function<void(Slot)>& forget) {
  for (; !tombstones_.empty() && tombstones_.begin()->forget_at_us <= tau_us; --objects_max) {
    if (objects_max == 0) return false;
    const Slot slot = tombstones_.begin()->slot;
    tombstones_.erase(tombstones_.begin());
    forget_at_us_.erase(slot);
    forget(slot);
  }
  return true;
}

void Departures::append_to(ObjectTableState& state) const {
  state.tombstones.insert(state.tombstones.end(), tombstones_.begin(), tombstones_.end());
  state.leavers.insert(state.leavers.end(), leavers_.begin(), leavers_.end());
}

void Departures::add(const Tombstone& tombstone) {
  tombstones_.insert(tombstone);
  forget_at_us_[tombstone.slot] = tombstone.forget_at_us;
}

}  // namespace starling
