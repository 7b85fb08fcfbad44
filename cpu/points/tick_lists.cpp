// SPDX-License-Identifier: Apache-2.0
// Compares lists in parallel, then counts the changed lists, so that each thread knows where to
// write its reports. See tick_lists.hpp.
#include "starling/cpu/points/tick_lists.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/engine/list_change.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t lists_grain = 512;

// Lists keep their memory for the next tick, unless it has room for more neighbours than the first
// number, and for more than the second times those of the tick.
constexpr std::size_t kept_neighbors_max = std::size_t{1} << 18;
constexpr std::size_t kept_factor = 4;

std::vector<char> find_changed(const TickLists& last, const TickLists& now,
                               const ListMatching* matching, ThreadPool& pool) {
  std::vector<char> changed(now.plan->searches.size());
  pool.for_ranges(changed.size(), lists_grain, [&](std::size_t first, std::size_t end, unsigned) {
    for (std::size_t i = first; i < end; ++i) {
      const auto search = static_cast<std::uint32_t>(i);
      const std::uint32_t before = matching == nullptr ? search : matching->last_search[i];
      changed[i] = before == ListMatching::none ||
                   has_changed(last.of(before), now.of(search), now.plan->rooms[i].on);
    }
  });
  return changed;
}

// Writes the reports of the changed lists in the order of their queries. Each thread counts the
// reports of one part of the lists, then writes these reports after those of the earlier parts.
// Room for the removals is left after the last report.
void write_updates(TickLists& now, std::span<const char> changed, std::size_t removals,
                   const ObjectSnapshot& objects, ThreadPool& pool) {
  struct Part {
    std::size_t lists = 0;
    std::size_t states = 0;
  };
  const std::vector<ListPlan::List>& lists = now.plan->lists;
  std::vector<Part> parts(std::min<std::size_t>(lists.size() / lists_grain + 1, pool.threads()));
  const auto begin_of = [&](std::size_t part) { return lists.size() * part / parts.size(); };
  const auto for_changed = [&](std::size_t part, const auto& act) {
    for (std::size_t i = begin_of(part); i < begin_of(part + 1); ++i)
      if (changed[lists[i].search] != 0) act(lists[i]);
  };
  pool.run(parts.size(), [&](std::size_t part, unsigned) {
    Part counts;
    for_changed(part, [&](const ListPlan::List& list) {
      ++counts.lists;
      if (list.with_state) counts.states += now.counts[list.search];
    });
    parts[part] = counts;
  });
  Part all;
  for (Part& part : parts) {
    const Part counts = std::exchange(part, all);
    all = {all.lists + counts.lists, all.states + counts.states};
  }
  now.reported.resize(all.lists + removals);
  now.states.resize(all.states);
  pool.run(parts.size(), [&](std::size_t part, unsigned) {
    Part place = parts[part];
    for_changed(part, [&](const ListPlan::List& list) {
      ReportedList& report = now.reported[place.lists++];
      report = {};
      report.query = list.query;
      report.has_subject = list.subject != no_slot;
      report.subject = list.subject_id;
      report.count = now.counts[list.search];
      report.first = now.plan->rooms[list.search].first;
      if (!list.with_state) return;
      report.first_state = place.states;
      now.write_states(list.search, objects, now.states.data() + place.states);
      place.states += report.count;
    });
  });
}

}  // namespace

void TickLists::free_memory() {
  // An assignment of {} would keep a vector's memory.
  const auto free = [](auto& array) { array = std::remove_cvref_t<decltype(array)>(); };
  free(counts);
  free(neighbors);
  free(slots);
  free(reported);
  free(states);
}

bool TickLists::lay_out(std::shared_ptr<const ListPlan> next) {
  plan = std::move(next);
  const bool is_too_large =
      neighbors.capacity() > kept_neighbors_max && neighbors.capacity() / kept_factor > plan->room;
  if (is_too_large) free_memory();
  counts.resize(plan->searches.size());
  neighbors.resize(plan->room);
  slots.resize(plan->room);
  return is_too_large;
}

void TickLists::append_states(std::uint32_t search, const ObjectSnapshot& objects,
                              std::vector<NeighborState>& to) const {
  const std::size_t before = to.size();
  to.resize(before + counts[search]);
  write_states(search, objects, to.data() + before);
}

void TickLists::write_states(std::uint32_t search, const ObjectSnapshot& objects,
                             NeighborState* to) const {
  const std::uint64_t first = plan->rooms[search].first;
  for (std::uint32_t i = 0; i < counts[search]; ++i)
    to[i] = {objects.position(slots[first + i]), objects.tags(slots[first + i])};
}

void collect_changes(const TickLists& last, const std::shared_ptr<TickLists>& now,
                     const ObjectSnapshot& objects, ThreadPool& pool, TickResult& result) {
  const bool same_plan = last.plan == now->plan;
  const ListMatching matching =
      same_plan ? ListMatching{} : match_lists(*last.plan, *now->plan, now->plan->searches.size());
  const std::vector<char> changed = find_changed(last, *now, same_plan ? nullptr : &matching, pool);

  write_updates(*now, changed, matching.removals.size(), objects, pool);
  merge_removals(matching.removals, now->reported);
  result.lists = now->reported;
  result.neighbors = now->neighbors;
  result.states = now->states;
  result.owner = now;
}

}  // namespace starling::cpu
