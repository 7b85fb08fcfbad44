// SPDX-License-Identifier: Apache-2.0
// The lists of a tick, with their searches in spatial order. CpuEngine makes one and keeps it for
// as long as the lists are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::cpu {

/// One search, with all data of its query that it needs.
struct PlannedSearch {
  LatticePoint position;  ///< of a fixed query
  Slot anchor = no_slot;  ///< the followed object or the subject; it is not in the list
  std::uint32_t k = 0;
  Filter filter;
};

struct ListPlan : ListDirectory {
  /// Where the result of a search is, and how its changes are reported.
  struct Room {
    std::uint64_t first = 0;  ///< the index of its first neighbour, with room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<PlannedSearch> searches;  ///< in order of the index's cells
  std::vector<Room> rooms;              ///< by search
  std::uint64_t room = 0;               ///< neighbours in all lists together
  /// The tag filter of the majority of searches; an arbitrary one if there is no majority.
  /// usual_tags_neighbors is the sum of k of the searches with it, or 0 if it is the empty filter.
  TagFilter usual_tags;
  std::uint64_t usual_tags_neighbors = 0;

  ListPlan() = default;
  /// `rows` has the queries by slot.
  ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects,
           const SpatialIndex& index);

 private:
  void find_usual_tags();
  void order_by_place(const ObjectSnapshot& objects, const SpatialIndex& index);
};

}  // namespace starling::cpu
