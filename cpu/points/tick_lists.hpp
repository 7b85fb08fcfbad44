// SPDX-License-Identifier: Apache-2.0
// The neighbour lists of one tick, and the changes between two ticks. CpuEngine has the lists of
// the last tick and of the tick under way.
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
  std::vector<std::uint32_t> counts;  ///< [search]
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< the slot of each of `neighbors`

  /// The spans of the TickResult point into `reported` and `states`.
  std::vector<ReportedList> reported;
  std::vector<NeighborState> states;

  /// Takes `next` as the plan and makes room for all its lists. If they need much less than there
  /// is, frees the memory first and returns true.
  bool lay_out(std::shared_ptr<const ListPlan> next);
  void free_memory();

  std::span<const Neighbor> of(std::uint32_t search) const {
    return std::span(neighbors).subspan(plan->rooms[search].first, counts[search]);
  }
  /// Appends the states of a list's neighbours to `to`.
  void append_states(std::uint32_t search, const ObjectSnapshot& objects,
                     std::vector<NeighborState>& to) const;
  /// Does the same, but overwrites memory that has room for all neighbours of the list.
  void write_states(std::uint32_t search, const ObjectSnapshot& objects, NeighborState* to) const;
};

/// Compares the lists with those of the last tick and collects the reports for their streams. The
/// result points to the memory of `now` and shares the ownership of `now`.
void collect_changes(const TickLists& last, const std::shared_ptr<TickLists>& now,
                     const ObjectSnapshot& objects, ThreadPool& pool, TickResult& result);

}  // namespace starling::cpu
