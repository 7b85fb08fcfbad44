#include "cpu/engine_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>

namespace starling::cpu {
namespace {

// In place: memory is short when this is needed.
template <class Row>
void keep_newest(std::pmr::vector<Row>& newer, std::pmr::vector<Row>& kept) {
  if (kept.empty()) return kept.swap(newer);
  std::ranges::sort(kept, {}, &Row::slot);
  std::ranges::sort(newer, {}, &Row::slot);
  const std::size_t kept_before = kept.size();
  std::size_t place = 0;
  for (const Row& row : newer) {
    while (place < kept_before && kept[place].slot < row.slot) ++place;
    if (place < kept_before && kept[place].slot == row.slot)
      kept[place] = row;
    else
      kept.push_back(row);
  }
}

}  // namespace

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

void keep_rows(Staging& newer, Staging& kept) noexcept {
  keep_newest(newer.births, kept.births);
  keep_newest(newer.objects, kept.objects);
  keep_newest(newer.queries, kept.queries);
  newer.clear();
}

}  // namespace starling::cpu
