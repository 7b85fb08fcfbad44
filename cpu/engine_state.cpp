#include "cpu/engine_state.hpp"

#include <cstdint>
#include <memory>
#include <utility>

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
  for (const ListPlan::Query& query : lists.plan->queries)
    state.queries_known.push_back({query.slot, query.generation});
  for (const ListPlan::List& list : lists.plan->lists)
    state.lists.push_back({.query = list.query,
                           .generation = list.generation,
                           .subject = list.subject,
                           .subject_id = list.subject_id,
                           .with_state = list.with_state,
                           .count = lists.counts[list.search],
                           .first = lists.plan->rooms[list.search].first});
  state.neighbors = lists.neighbors;
  state.slots = lists.slots;
  return state;
}

void import_lists(const EngineState& state, TickLists& lists) {
  auto plan = std::make_shared<ListPlan>();
  for (const EngineState::Query& query : state.queries_known)
    plan->queries.push_back({query.slot, query.generation});
  lists.counts.clear();
  for (const EngineState::List& list : state.lists) {
    const auto search = static_cast<std::uint32_t>(plan->searches.size());
    plan->lists.push_back(
        {list.query, list.generation, list.subject, list.subject_id, search, list.with_state});
    plan->searches.emplace_back();
    plan->rooms.push_back({list.first, ReportOn::order});
    lists.counts.push_back(list.count);
  }
  lists.plan = std::move(plan);
  lists.neighbors = state.neighbors;
  lists.slots = state.slots;
}

}  // namespace starling::cpu
