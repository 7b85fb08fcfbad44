#include "cpu/tick_lists.hpp"

#include <algorithm>
#include <tuple>

namespace starling::cpu {
namespace {

constexpr std::size_t lists_grain = 512;
constexpr std::uint32_t none = ~std::uint32_t{0};

auto key_of(const ListPlan::List& list) {
  // A list without a subject comes before those with one: no_slot + 1 is 0.
  return std::tuple(list.query, static_cast<Slot>(list.subject + 1));
}

bool same_members(std::span<const Neighbor> a, std::span<const Neighbor> b) {
  std::vector<ObjectId> a_ids;
  std::vector<ObjectId> b_ids;
  for (const Neighbor& neighbor : a) a_ids.push_back(neighbor.object);
  for (const Neighbor& neighbor : b) b_ids.push_back(neighbor.object);
  std::ranges::sort(a_ids);
  std::ranges::sort(b_ids);
  return a_ids == b_ids;
}

bool has_changed(std::span<const Neighbor> last, std::span<const Neighbor> now, ReportOn on) {
  if (last.size() != now.size()) return true;
  if (on == ReportOn::distance) return !std::ranges::equal(last, now);
  if (std::ranges::equal(last, now, {}, &Neighbor::object, &Neighbor::object)) return false;
  return on == ReportOn::order || !same_members(last, now);
}

// What became of the last tick's lists.
struct Matching {
  std::vector<std::uint32_t> last_search;   ///< by search of now: the same list's, or none
  std::vector<const ListPlan::List*> gone;  ///< in order
};

Matching match(const ListPlan& last, const ListPlan& now) {
  Matching matching;
  matching.last_search.resize(now.searches.size(), none);
  auto before = last.lists.begin();
  for (const ListPlan::List& list : now.lists) {
    for (; before != last.lists.end() && key_of(*before) < key_of(list); ++before)
      matching.gone.push_back(&*before);
    if (before == last.lists.end() || key_of(*before) != key_of(list)) continue;
    if (before->generation == list.generation && before->subject_id == list.subject_id)
      matching.last_search[list.search] = before->search;
    else if (list.subject != no_slot)
      matching.gone.push_back(&*before);  // a reused slot: another subject, or another query
    ++before;
  }
  for (; before != last.lists.end(); ++before) matching.gone.push_back(&*before);
  return matching;
}

std::vector<char> find_changed(const TickLists& last, const TickLists& now,
                               const Matching* matching, ThreadPool& pool) {
  std::vector<char> changed(now.plan->searches.size());
  pool.for_ranges(changed.size(), lists_grain, [&](std::size_t first, std::size_t end, unsigned) {
    for (std::size_t i = first; i < end; ++i) {
      const auto search = static_cast<std::uint32_t>(i);
      const std::uint32_t before = matching == nullptr ? search : matching->last_search[i];
      changed[i] =
          before == none || has_changed(last.of(before), now.of(search), now.plan->searches[i].on);
    }
  });
  return changed;
}

ReportedList removal(const ListPlan::List& list) {
  ReportedList report;
  report.query = list.query;
  report.event = ListEvent::removed;
  report.has_subject = list.subject != no_slot;
  report.subject = list.subject_id;
  return report;
}

}  // namespace

void TickLists::lay_out(std::shared_ptr<const ListPlan> next) {
  plan = std::move(next);
  counts.resize(plan->searches.size());
  neighbors.resize(plan->room);
  slots.resize(plan->room);
}

void TickLists::append_states(std::uint32_t search, const ObjectSnapshot& objects,
                              std::vector<NeighborState>& states) const {
  const std::uint64_t first = plan->searches[search].first;
  for (std::uint32_t i = 0; i < counts[search]; ++i)
    states.push_back({objects.position(slots[first + i]), objects.tags(slots[first + i])});
}

void collect_changes(const TickLists& last, const TickLists& now, const ObjectSnapshot& objects,
                     ThreadPool& pool, TickResult& result) {
  const bool same_plan = last.plan == now.plan;
  const Matching matching = same_plan ? Matching{} : match(*last.plan, *now.plan);
  const std::vector<char> changed = find_changed(last, now, same_plan ? nullptr : &matching, pool);

  // Merge the changed and the gone, and give every reported list its place.
  std::vector<std::uint32_t> searches;  // of result.lists
  std::uint64_t neighbor_count = 0;
  auto gone = matching.gone.begin();
  const auto report_gone_before = [&](const ListPlan::List* list) {
    for (; gone != matching.gone.end(); ++gone) {
      if (list != nullptr && key_of(*list) < key_of(**gone)) return;
      result.lists.push_back(removal(**gone));
      searches.push_back(none);
    }
  };
  for (const ListPlan::List& list : now.plan->lists) {
    report_gone_before(&list);
    if (changed[list.search] == 0) continue;
    ReportedList& report = result.lists.emplace_back();
    report.query = list.query;
    report.has_subject = list.subject != no_slot;
    report.subject = list.subject_id;
    report.count = now.counts[list.search];
    report.first = neighbor_count;
    neighbor_count += report.count;
    searches.push_back(list.search);
    if (!list.with_state) continue;
    report.first_state = result.states.size();
    now.append_states(list.search, objects, result.states);
  }
  report_gone_before(nullptr);

  result.neighbors.resize(neighbor_count);
  pool.for_ranges(searches.size(), lists_grain, [&](std::size_t first, std::size_t end, unsigned) {
    for (std::size_t i = first; i < end; ++i)
      if (searches[i] != none)
        std::ranges::copy(now.of(searches[i]), &result.neighbors[result.lists[i].first]);
  });
}

}  // namespace starling::cpu
