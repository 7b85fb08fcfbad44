// The neighbour lists of one tick, and what changed between two ticks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/list_plan.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::cpu {

struct TickLists {
  std::shared_ptr<const ListPlan> plan = std::make_shared<ListPlan>();
  std::vector<std::uint32_t> counts;  ///< by search
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< of the neighbours

  /// What streams asked to hear: see TickResult.
  std::vector<ReportedList> reported;
  std::vector<NeighborState> states;

  /// Takes room for all lists of the plan.
  void lay_out(std::shared_ptr<const ListPlan> next);

  std::span<const Neighbor> of(std::uint32_t search) const {
    return std::span(neighbors).subspan(plan->rooms[search].first, counts[search]);
  }
  /// What is reported of a list's neighbours beside their ids.
  void append_states(std::uint32_t search, const ObjectSnapshot& objects,
                     std::vector<NeighborState>& to) const;
  /// The same, to where there is room for as many as the list has.
  void write_states(std::uint32_t search, const ObjectSnapshot& objects, NeighborState* to) const;
};

/// Collects what each list's stream asks to hear, comparing with the last tick's lists. It stays
/// where it is: the result shows it and shares its ownership.
void collect_changes(const TickLists& last, const std::shared_ptr<TickLists>& now,
                     const ObjectSnapshot& objects, ThreadPool& pool, TickResult& result);

}  // namespace starling::cpu
