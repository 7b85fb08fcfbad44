// SPDX-License-Identifier: Apache-2.0
// The lists of a tick, with their searches in spatial order and their filters. CpuEngine makes a
// plan and keeps it for as long as the lists are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::cpu {

/// The part of a Filter that does not depend on the distance, with the searches that have it.
struct PlannedFilter {
  TagFilter tags;
  std::int64_t age_us_max = Filter::any_age;
  std::uint64_t searches = 0;
  std::uint64_t neighbors = 0;  ///< the sum of k of these searches

  bool accepts_all() const { return tags.is_empty() && age_us_max == Filter::any_age; }
  bool operator==(const PlannedFilter&) const = default;
};

/// One search, with all data of its query that it needs.
struct PlannedSearch {
  LatticePoint position;  ///< of a fixed query
  Slot anchor = no_slot;  ///< the followed object or the subject; it is not in the list
  std::uint32_t k = 0;
  std::uint32_t filter = 0;  ///< the index into ListPlan::filters
  RankKey key_max = Filter::any_distance;
};

struct ListPlan : ListDirectory {
  /// Where the result of a search is, and how its changes are reported.
  struct Room {
    std::uint64_t first = 0;  ///< the index of its first neighbour, with room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<PlannedFilter> filters;    ///< all different
  std::vector<PlannedSearch> searches;   ///< in the order that order() makes
  std::vector<Room> rooms;               ///< by search
  std::uint64_t room = 0;                ///< neighbours in all lists together
  std::vector<std::uint8_t> is_grouped;  ///< by filter, as given to order()

  ListPlan() = default;
  /// `rows` has the queries by slot. The searches are in no order before order().
  ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects);

  /// Orders the searches by the cells of the index. A grouped filter has an index of its own; the
  /// searches of grouped filters come last, filter by filter. Call this once.
  void order(const ObjectSnapshot& objects, const SpatialIndex& index,
             std::vector<std::uint8_t> grouped_filters);
};

}  // namespace starling::cpu
