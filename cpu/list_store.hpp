// The neighbour lists of one tick, and what changed between two ticks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/object_snapshot.hpp"
#include "cpu/thread_pool.hpp"
#include "knn/engine.hpp"

namespace starling::cpu {

using ListEntry = EngineState::List;

/// All lists of a tick, by query slot, then subject slot. Room for k neighbours a list is taken
/// before the search fills it.
struct TickLists {
  std::vector<ListEntry> entries;
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;

  std::span<const Neighbor> of(const ListEntry& entry) const {
    return std::span(neighbors).subspan(entry.first, entry.count);
  }
};

/// Lays out a list for every live query and subject. `queries` is by slot.
void lay_out(TickLists& lists, std::span<const QueryRow> queries, const ObjectSnapshot& objects);

/// Writes into `result` what each list's stream asks to hear, comparing with the last tick's lists.
void collect_changes(const TickLists& last, const TickLists& now, std::span<const QueryRow> queries,
                     const ObjectSnapshot& objects, ThreadPool& pool, TickResult& result);

}  // namespace starling::cpu
