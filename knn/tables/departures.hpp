// SPDX-License-Identifier: Apache-2.0
// Keeps the tombstones of objects that left, until the objects are forgotten. Each ObjectPartition
// has a Departures. ObjectTable decides when an object leaves, and forgets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "starling/knn/tables/object_rows.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class Departures {
 public:
  using Tombstone = ObjectTableState::Tombstone;

  /// Notes that the object of a slot has left. It gets a tombstone at the next call of bury.
  void leave(Slot slot) { leavers_.insert(slot); }

  /// Gives a tombstone to each object that left since the last call. An object with a tombstone
  /// only gets a new time. If `has_left` returns false, the object has come back and gets no
  /// tombstone. Subtracts the number of objects from `objects_max`. Returns false if objects are
  /// left because `objects_max` became 0.
  bool bury(std::int64_t forget_at_us, std::size_t& objects_max,
            const std::function<bool(Slot)>& has_left);

  /// Removes the tombstones with a time up to `tau_us`, and calls `forget` for their slots.
  /// Subtracts their number from `objects_max`. Returns false if tombstones are left because
  /// `objects_max` became 0.
  bool forget_due(std::int64_t tau_us, std::size_t& objects_max,
                  const std::function<void(Slot)>& forget);

  bool has_tombstone(Slot slot) const { return forget_at_us_.contains(slot); }

  void append_to(ObjectTableState& state) const;
  void add(const Tombstone& tombstone);

 private:
  std::set<Slot> leavers_;          ///< objects that have left since the last call of bury
  std::set<Tombstone> tombstones_;  ///< at most one for each slot
  std::unordered_map<Slot, std::int64_t> forget_at_us_;  ///< the times of tombstones_, by slot
};

}  // namespace starling
