// SPDX-License-Identifier: Apache-2.0
// Makes the lists of the queries, sorts their searches by the cells of the index, and finds the tag
// filter of the majority: see list_plan.hpp. CpuEngine makes a plan when lists change, and every
// few ticks if anchors move.
#include "starling/cpu/points/list_plan.hpp"

#include <hwy/contrib/sort/vqsort.h>

namespace starling::cpu {

ListPlan::ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects,
                   const SpatialIndex& index) {
  const auto add_search = [this](const QueryRow& query, Slot anchor) {
    searches.push_back({query.position, anchor, query.k, query.filter});
    rooms.push_back({0, query.on});
    return static_cast<std::uint32_t>(searches.size() - 1);
  };
  for (const QueryRow& query : rows)
    if (is_alive(query.generation)) add_lists(query, objects, *this, add_search);
  order_by_place(objects, index);
  find_usual_tags();
}

// The majority vote of Boyer and Moore (1981): if a filter has the majority, it remains.
void ListPlan::find_usual_tags() {
  std::size_t lead = 0;
  for (const PlannedSearch& search : searches) {
    if (lead == 0) usual_tags = search.filter.tags;
    lead += search.filter.tags == usual_tags ? 1 : std::size_t{0} - 1;
  }
  if (usual_tags.is_empty()) return;
  for (const PlannedSearch& search : searches)
    if (search.filter.tags == usual_tags) usual_tags_neighbors += search.k;
}

void ListPlan::order_by_place(const ObjectSnapshot& objects, const SpatialIndex& index) {
  std::vector<std::uint64_t> order(searches.size());
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Slot anchor = searches[i].anchor;
    const LatticePoint& position =
        objects.is_known_alive(anchor) ? objects.position(anchor) : searches[i].position;
    order[i] = (std::uint64_t{index.cell(position)} << 32) | i;
  }
  hwy::Sorter()(order.data(), order.size(), hwy::SortAscending());
  std::vector<PlannedSearch> in_place_order;
  std::vector<Room> rooms_in_place_order;
  in_place_order.reserve(searches.size());
  rooms_in_place_order.reserve(searches.size());
  for (const std::uint64_t key : order) {
    const auto list = static_cast<std::uint32_t>(key);
    lists[list].search = static_cast<std::uint32_t>(in_place_order.size());
    in_place_order.push_back(searches[list]);
    rooms_in_place_order.push_back({room, rooms[list].on});
    room += searches[list].k;
  }
  searches = std::move(in_place_order);
  rooms = std::move(rooms_in_place_order);
}

}  // namespace starling::cpu
