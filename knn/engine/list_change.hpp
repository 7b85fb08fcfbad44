// SPDX-License-Identifier: Apache-2.0
// Compares a list of one tick with the same list of the last tick, for the kind of change that its
// stream reports. The CPU engine and the vector engine call has_changed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// Returns true if both lists have the same objects, in any order.
inline bool has_same_members(std::span<const Neighbor> a, std::span<const Neighbor> b) {
  std::vector<ObjectId> a_ids;
  std::vector<ObjectId> b_ids;
  for (const Neighbor& neighbor : a) a_ids.push_back(neighbor.object);
  for (const Neighbor& neighbor : b) b_ids.push_back(neighbor.object);
  std::ranges::sort(a_ids);
  std::ranges::sort(b_ids);
  return a_ids == b_ids;
}

/// Returns true if a stream that reports changes of the kind `on` must report the list.
inline bool has_changed(std::span<const Neighbor> last, std::span<const Neighbor> now,
                        ReportOn on) {
  if (last.size() != now.size()) return true;
  if (on == ReportOn::distance) return !std::ranges::equal(last, now);
  if (std::ranges::equal(last, now, {}, &Neighbor::object, &Neighbor::object)) return false;
  return on == ReportOn::order || !has_same_members(last, now);
}

}  // namespace starling
