// SPDX-License-Identifier: Apache-2.0
// Lays out the lists of a plan, counts their votes, and collects the changed lists in the order of
// the queries: see lists.hpp.
#include "starling/knn/vectors/ticks/lists.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/engine/list_change.hpp"
#include "starling/knn/vectors/vote.hpp"

namespace starling {
namespace {

void report(const ListDirectory::List& list, const VectorObjects& objects, VectorLists& lists) {
  ReportedList& report = lists.reported.emplace_back();
  report.query = list.query;
  report.has_subject = list.subject != no_slot;
  report.subject = list.subject_id;
  report.count = lists.counts[list.search];
  report.first = lists.plan->searches[list.search].first;
  if (!list.with_state) return;
  report.first_state = lists.states.size();
  for (const Slot slot : lists.slots_of(list.search))
    lists.states.push_back({.position = {}, .tags = objects.tags(slot)});
}

bool is_reported(const VectorLists& last, const VectorLists& now, std::uint32_t before,
                 std::uint32_t search) {
  if (before == ListMatching::none) return true;
  if (now.vote_of(search) != last.vote_of(before)) return true;
  return has_changed(last.of(before), now.of(search), now.plan->searches[search].on);
}

}  // namespace

VectorPlan::VectorPlan(const VectorQueries& standing, const VectorObjects& objects) {
  const auto add_search = [this](const QueryRow& query, Slot anchor) {
    searches.push_back({query.slot, anchor, std::exchange(room, room + query.k), query.on});
    return static_cast<std::uint32_t>(searches.size() - 1);
  };
  for (const QueryRow& query : standing.rows())
    if (is_alive(query.generation)) add_lists(query, objects, *this, add_search);
}

void VectorLists::lay_out(std::shared_ptr<const VectorPlan> next) {
  plan = std::move(next);
  counts.resize(plan->searches.size());
  neighbors.resize(plan->room);
  slots.resize(plan->room);
}

void VectorLists::write(std::uint32_t search, std::span<const KeptNearest::Entry> list) {
  counts[search] = static_cast<std::uint32_t>(list.size());
  std::uint64_t place = plan->searches[search].first;
  for (const KeptNearest::Entry& entry : list) {
    neighbors[place] = entry.neighbor;
    slots[place++] = entry.slot;
  }
}

void VectorLists::count_votes(Metric metric, const VectorQueries& queries,
                              const VectorObjects& objects) {
  votes.clear();
  for (std::uint32_t search = 0; search < counts.size(); ++search) {
    if (!queries.row(plan->searches[search].query).vote) continue;
    votes.resize(counts.size());
    votes[search] = vote_of_list(metric, of(search), slots_of(search), objects);
  }
}

Label vote_of_list(Metric metric, std::span<const Neighbor> list, std::span<const Slot> slots,
                   const VectorObjects& objects) {
  std::vector<Ballot> ballots;
  ballots.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto ordered = static_cast<std::uint32_t>(to_number(list[i].key));
    ballots.push_back({objects.label(slots[i]), distance_of(metric, score_of_ordered(ordered))});
  }
  return vote(ballots);
}

void collect_changes(const VectorLists& last, const std::shared_ptr<VectorLists>& now,
                     const ListMatching* matching, const VectorObjects& objects,
                     TickResult& result) {
  now->reported.clear();
  now->states.clear();
  now->reported_votes.clear();
  std::vector<std::optional<Label>> votes;
  for (const ListDirectory::List& list : now->plan->lists) {
    const std::uint32_t before =
        matching == nullptr ? list.search : matching->last_search[list.search];
    if (!is_reported(last, *now, before, list.search)) continue;
    report(list, objects, *now);
    if (!now->votes.empty()) votes.push_back(now->votes[list.search]);
  }
  if (matching != nullptr) {
    now->reported.resize(now->reported.size() + matching->removals.size());
    merge_removals(matching->removals, now->reported);
  }
  if (!now->votes.empty()) {
    auto vote = votes.begin();
    for (const ReportedList& list : now->reported)
      now->reported_votes.push_back(list.event == ListEvent::updated ? *vote++ : std::nullopt);
  }
  result.lists = now->reported;
  result.neighbors = now->neighbors;
  result.states = now->states;
  result.votes = now->reported_votes;
  result.owner = now;
}

}  // namespace starling
