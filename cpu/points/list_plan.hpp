// SPDX-License-Identifier: Apache-2.0
// The lists of a tick, with their searches in spatial order and their filters. CpuEngine makes a
// plan and keeps it for several ticks, unless lists are added or removed or queries change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::cpu {

/// The tags and the age limit of a Filter, and counts of the searches with this filter.
struct PlannedFilter {
  TagFilter tags;
  std::int64_t age_us_max = Filter::any_age;
  std::uint64_t searches = 0;
  std::uint64_t neighbors = 0;  ///< the sum of k of these searches

  bool accepts_all() const { return tags.is_empty() && age_us_max == Filter::any_age; }
  bool operator==(const PlannedFilter&) const = default;
};

/// One search, with all data of its query that the search needs.
struct PlannedSearch {
  LatticePoint position;  ///< the anchor of a fixed query
  Slot anchor = no_slot;  ///< the followed object or the subject; it is not in the list
  std::uint32_t k = 0;
  std::uint32_t filter = 0;  ///< the index into ListPlan::filters
  RankKey key_max = Filter::any_distance;
};

struct ListPlan : ListDirectory {
  /// The place of a search's list in TickLists, and the changes of the list that are reported.
  struct Room {
    std::uint64_t first = 0;  ///< the index of its first neighbour; the list has room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<PlannedFilter> filters;    ///< all different
  std::vector<PlannedSearch> searches;   ///< sorted by order()
  std::vector<Room> rooms;               ///< [search]
  std::uint64_t room = 0;                ///< room of all lists together, in neighbours
  std::vector<std::uint8_t> is_grouped;  ///< [filter]: the argument of order()

  ListPlan() = default;
  /// `rows` has the queries by slot. The searches are in no order before order().
  ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects);

  /// Orders the searches by the cells of the index. Filters with an index of their own are called
  /// grouped: their entry in `grouped_filters` is 1. The searches of grouped filters come last,
  /// filter by filter. Call this once.
  void order(const ObjectSnapshot& objects, const SpatialIndex& index,
             std::vector<std::uint8_t> grouped_filters);
};

}  // namespace starling::cpu
