// Which lists a tick has, and in which order of place they are searched. Made from the queries and
// kept from tick to tick while nothing that shapes it changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/object_snapshot.hpp"
#include "cpu/spatial_index.hpp"
#include "knn/engine.hpp"

namespace starling::cpu {

/// One search, with all that it needs of its query.
struct PlannedSearch {
  LatticePoint position;  ///< of a fixed query
  Slot anchor = no_slot;  ///< the object followed, or the subject: excluded from its own list
  std::uint32_t k = 0;
  Filter filter;
};

struct ListPlan {
  struct List {
    Slot query = no_slot;
    std::uint32_t generation = 0;  ///< of the query
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    std::uint32_t search = 0;  ///< index into searches
    bool with_state = false;
  };
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  /// What the result of a search is read by, apart from what the search itself reads.
  struct Room {
    std::uint64_t first = 0;  ///< where its neighbours go: room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<Query> queries;           ///< by slot; an every-object query may have no list
  std::vector<List> lists;              ///< by query slot, then subject slot
  std::vector<PlannedSearch> searches;  ///< neighbours in place follow one another
  std::vector<Room> rooms;              ///< by search
  std::uint64_t room = 0;               ///< neighbours of all lists
  bool has_moving_anchors = false;
  bool has_every_object = false;

  ListPlan() = default;
  /// `rows` is by slot.
  ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects,
           const SpatialIndex& index);

 private:
  void add(const QueryRow& query, const ObjectSnapshot& objects);
  void order_by_place(const ObjectSnapshot& objects, const SpatialIndex& index);
};

}  // namespace starling::cpu
