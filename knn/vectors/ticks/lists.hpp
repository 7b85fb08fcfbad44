// The neighbour lists of one tick in a vector space, what they vote for, and what changed between
// two ticks. VectorEngine has those of the last tick and of the one under way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "starling/knn/engine/list_directory.hpp"
#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/vectors/ticks/kept_nearest.hpp"
#include "starling/knn/vectors/ticks/objects.hpp"
#include "starling/knn/vectors/ticks/queries.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// Which lists a tick has. Kept while they are the same.
struct VectorPlan : ListDirectory {
  struct Search {
    Slot query = no_slot;
    Slot anchor = no_slot;    ///< the object followed, or the subject: not in its own list
    std::uint64_t first = 0;  ///< where its neighbours go: room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<Search> searches;
  std::uint64_t room = 0;  ///< neighbours of all lists

  VectorPlan() = default;
  VectorPlan(const VectorQueries& standing, const VectorObjects& objects);
};

struct VectorLists {
  std::shared_ptr<const VectorPlan> plan = std::make_shared<VectorPlan>();
  std::vector<std::uint32_t> counts;  ///< by search
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;                  ///< of the neighbours
  std::vector<std::optional<Label>> votes;  ///< by search; nothing if no query of the plan votes

  /// What streams asked to hear: see TickResult.
  std::vector<ReportedList> reported;
  std::vector<NeighborState> states;
  std::vector<std::optional<Label>> reported_votes;

  /// Takes room for all lists of the plan.
  void lay_out(std::shared_ptr<const VectorPlan> next);
  void write(std::uint32_t search, std::span<const KeptNearest::Entry> list);
  /// Has the lists vote whose queries ask for it.
  void count_votes(Metric metric, const VectorQueries& queries, const VectorObjects& objects);

  std::span<const Neighbor> of(std::uint32_t search) const {
    return std::span(neighbors).subspan(plan->searches[search].first, counts[search]);
  }
  std::span<const Slot> slots_of(std::uint32_t search) const {
    return std::span(slots).subspan(plan->searches[search].first, counts[search]);
  }
  std::optional<Label> vote_of(std::uint32_t search) const {
    return votes.empty() ? std::nullopt : votes[search];
  }
};

/// What the list's objects vote for.
Label vote_of_list(Metric metric, std::span<const Neighbor> list, std::span<const Slot> slots,
                   const VectorObjects& objects);

/// Collects what each list's stream asks to hear, comparing with the last tick's lists; no matching
/// if these have the same plan. It stays where it is: the result shows it and shares its ownership.
void collect_changes(const VectorLists& last, const std::shared_ptr<VectorLists>& now,
                     const ListMatching* matching, const VectorObjects& objects,
                     TickResult& result);

}  // namespace starling
