// SPDX-License-Identifier: Apache-2.0
// Copies objects, queries and lists of CpuEngine: see engine_state.hpp. Imported lists get a plan
// with empty searches, which is enough to report changes of the lists. The next tick makes a new
// plan.
#include "starling/cpu/points/engine_state.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "starling/knn/engine/list_directory.hpp"

namespace starling::cpu {

EngineState export_parts(const ObjectSnapshot& objects, std::span<const QueryRow> queries,
                         const TickLists& lists) {
  EngineState state;
  for (Slot slot = 0; slot < objects.slot_count(); ++slot) {
    state.births.push_back({slot, objects.id(slot)});
    if (objects.is_alive(slot))
      state.objects.push_back(
          {slot, 1, objects.tags(slot), objects.position(slot), objects.time_us(slot)});
  }
  state.queries.assign(queries.begin(), queries.end());
  export_directory(
      *lists.plan, [&](std::uint32_t search) { return lists.counts[search]; },
      [&](std::uint32_t search) { return lists.plan->rooms[search].first; }, state);
  state.neighbors = lists.neighbors;
  state.slots = lists.slots;
  return state;
}

void import_lists(const EngineState& state, TickLists& lists) {
  auto plan = std::make_shared<ListPlan>();
  static_cast<ListDirectory&>(*plan) = directory_of(state);
  plan->searches.resize(state.lists.size());
  lists.counts.clear();
  for (const EngineState::List& list : state.lists) {
    plan->rooms.push_back({list.first, ReportOn::order});
    lists.counts.push_back(list.count);
  }
  lists.plan = std::move(plan);
  lists.neighbors = state.neighbors;
  lists.slots = state.slots;
}

}  // namespace starling::cpu
