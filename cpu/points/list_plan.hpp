// Which lists a tick has, and in which order of place they are searched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::cpu {

/// One search, with all that it needs of its query.
struct PlannedSearch {
  LatticePoint position;  ///< of a fixed query
  Slot anchor = no_slot;  ///< the object followed, or the subject: excluded from its own list
  std::uint32_t k = 0;
  Filter filter;
};

struct ListPlan : ListDirectory {
  /// What the result of a search is read by, apart from what the search itself reads.
  struct Room {
    std::uint64_t first = 0;  ///< where its neighbours go: room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<PlannedSearch> searches;  ///< neighbours in place follow one another
  std::vector<Room> rooms;              ///< by search
  std::uint64_t room = 0;               ///< neighbours of all lists
  /// The tag filter that most searches have, if one has the majority and is not empty, and how many
  /// neighbours they ask for.
  TagFilter usual_tags;
  std::uint64_t usual_tags_neighbors = 0;

  ListPlan() = default;
  /// `rows` is by slot.
  ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects,
           const SpatialIndex& index);

 private:
  void find_usual_tags();
  void order_by_place(const ObjectSnapshot& objects, const SpatialIndex& index);
};

}  // namespace starling::cpu
