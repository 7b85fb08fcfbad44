// SPDX-License-Identifier: Apache-2.0
// Remembers which objects left, and when to forget them. Each ObjectPartition has one. Which rule
// makes an object leave, and what forgetting means, is ObjectTable's business.
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

  /// Gives each object that left since the last call a tombstone, or its tombstone a new time. An
  /// object that has come back, for which `has_left` returns false, gets none. Takes the number of
  /// objects off `objects_max`. Returns whether that was enough for all of them.
  bool bury(std::int64_t forget_at_us, std::size_t& objects_max,
            const std::function<bool(Slot)>& has_left);

  /// Removes the tombstones with a time up to `tau_us`, and calls `forget` for their slots. Takes
  /// their number off `objects_max`. Returns whether that was enough for all of them.
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
