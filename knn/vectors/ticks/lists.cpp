// SPDX-License-Identifier: Apache-2.0
// Lays out the lists of a plan, makes their predictions, and collects the changed lists in the
// order of the queries: see lists.hpp.
#include "starling/knn/vectors/ticks/lists.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/engine/list_change.hpp"
#include "starling/knn/vectors/regression.hpp"
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
  if (now.prediction_of(search) != last.prediction_of(before)) return true;
  return has_changed(last.of(before), now.of(search), now.plan->searches[search].on);
}

/// Returns make(slot, distance) of each object of the list, from the nearest on.
template <class Each, class Make>
std::vector<Each> from_each(const PredictionBasis& basis, const Make& make) {
  std::vector<Each> all;
  all.reserve(basis.list.size());
  for (std::size_t i = 0; i < basis.list.size(); ++i)
    all.push_back(make(basis.slots[i], distance_of(basis.metric, score_of(basis.list[i].key))));
  return all;
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

void VectorLists::predict(Metric metric, const VectorQueries& queries,
                          const VectorObjects& objects) {
  predictions.clear();
  for (std::uint32_t search = 0; search < counts.size(); ++search) {
    const QueryRow& query = queries.row(plan->searches[search].query);
    if (!query.vote && query.regress == RegressionWeights::none) continue;
    predictions.resize(counts.size());
    predictions[search] = starling::predict(query.vote, query.regress,
                                            {metric, of(search), slots_of(search), objects});
  }
}

Prediction predict(bool vote, RegressionWeights regress, const PredictionBasis& basis) {
  Prediction prediction;
  if (vote) {
    auto ballots = from_each<Ballot>(basis, [&](Slot slot, double distance) {
      return Ballot{basis.objects.label(slot), distance};
    });
    prediction.vote = starling::vote(ballots);
  }
  if (regress != RegressionWeights::none) {
    const auto samples = from_each<Sample>(basis, [&](Slot slot, double distance) {
      return Sample{basis.objects.value(slot), distance};
    });
    prediction.mean = starling::regress(samples, regress);
  }
  return prediction;
}

void collect_changes(const VectorLists& last, const std::shared_ptr<VectorLists>& now,
                     const ListMatching* matching, const VectorObjects& objects,
                     TickResult& result) {
  now->reported.clear();
  now->states.clear();
  now->reported_predictions.clear();
  std::vector<Prediction> predictions;
  for (const ListDirectory::List& list : now->plan->lists) {
    const std::uint32_t before =
        matching == nullptr ? list.search : matching->last_search[list.search];
    if (!is_reported(last, *now, before, list.search)) continue;
    report(list, objects, *now);
    if (!now->predictions.empty()) predictions.push_back(now->predictions[list.search]);
  }
  if (matching != nullptr) {
    now->reported.resize(now->reported.size() + matching->removals.size());
    merge_removals(matching->removals, now->reported);
  }
  if (!now->predictions.empty()) {
    auto prediction = predictions.begin();
    for (const ReportedList& list : now->reported)
      now->reported_predictions.push_back(list.event == ListEvent::updated ? *prediction++
                                                                           : Prediction{});
  }
  result.lists = now->reported;
  result.neighbors = now->neighbors;
  result.states = now->states;
  result.predictions = now->reported_predictions;
  result.owner = now;
}

}  // namespace starling
