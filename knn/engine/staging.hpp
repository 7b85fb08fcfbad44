// SPDX-License-Identifier: Apache-2.0
// The rows that a tick takes: the changes of objects and queries. The tables write them, and an
// Engine reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The allocator of staged arrays. It takes memory from a memory resource, and leaves the elements
/// that resize() adds uninitialized, because they are written right afterwards.
template <class T>
class StagedAllocator : public std::pmr::polymorphic_allocator<T> {
 public:
  using std::pmr::polymorphic_allocator<T>::polymorphic_allocator;
  StagedAllocator select_on_container_copy_construction() const { return {}; }
  template <class... Arguments>
  void construct(T* element, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) > 0)
      ::new (static_cast<void*>(element)) T(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using StagedVector = std::vector<T, StagedAllocator<T>>;

/// The whole state of an object for the next tick. A slot occurs at most once in a part of a
/// staging half: see Staging::part_ends.
struct ObjectRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: dead, not in the snapshot
  std::uint32_t tags = 0;
  LatticePoint position;
  std::int64_t time_us = 0;
};
static_assert(sizeof(ObjectRow) == 32);

constexpr bool is_alive(std::uint32_t generation) {
  return (generation & 1) != 0;
}

/// The id of the object that owns a slot. Staged once for each owner, before the owner's first row.
struct ObjectBirth {
  Slot slot = no_slot;
  ObjectId id{};
};

/// The whole definition of a query for the next tick. A slot occurs at most once in a staging half.
struct QueryRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: removed, and the tick reports the removal
  std::uint32_t k = 0;
  AnchorKind anchor = AnchorKind::fixed;
  ReportOn on = ReportOn::order;
  bool with_state : 1 = false;  ///< reports carry NeighborState
  bool vote : 1 = false;        ///< reports carry the label that the neighbours vote for
  RegressionWeights regress = RegressionWeights::none;  ///< reports carry the neighbours' mean
  LatticePoint position;                                ///< a fixed anchor's position
  Slot object = no_slot;  ///< follow: the object's slot, which stays the same while the query lives
  Filter filter;
  TagFilter subject;
};
static_assert(sizeof(QueryRow) == 64);

/// One of two halves: the tables write one half while the engine computes from the other half. The
/// engine chooses the memory resource (pinned host memory for a GPU).
struct Staging {
  explicit Staging(std::pmr::memory_resource* memory = lazy_memory())
      : births(memory),
        objects(memory),
        queries(memory),
        object_components(memory),
        object_targets(memory),
        query_components(memory) {}

  StagedVector<ObjectBirth> births;
  StagedVector<ObjectRow> objects;
  StagedVector<QueryRow> queries;

  // Only vector spaces fill these three arrays. Each row has as many components as the dimension of
  // the space, prepared for its metric. The components of dead rows, and of queries without a fixed
  // anchor, are unspecified.
  StagedVector<float> object_components;  ///< one row of components for each row of `objects`
  StagedVector<Targets> object_targets;   ///< one for each row of `objects`
  StagedVector<float> query_components;   ///< one row of components for each row of `queries`

  /// The engine may take rows of `objects` in parts, before the tick begins. Part i ends before row
  /// part_ends[i]. The rows of a part do not change any more. If an object in a part changes again,
  /// a new row for it is staged after the parts, and the new row counts. The rows after the parts
  /// are the last part.
  std::vector<std::size_t> part_ends;
  std::size_t taken_rows = 0;  ///< the end of the last part in part_ends

  /// Ends a part after the rows that are staged now.
  void end_part() {
    part_ends.push_back(objects.size());
    taken_rows = objects.size();
  }

  bool is_empty() const { return births.empty() && objects.empty() && queries.empty(); }
  void clear() {
    births.clear();
    objects.clear();
    part_ends.clear();
    taken_rows = 0;
    queries.clear();
    object_components.clear();
    object_targets.clear();
    query_components.clear();
  }
};

}  // namespace starling
