// The rows that a tick takes in: what changed about objects and queries. The tables write them, an
// Engine reads them.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// An object's whole state as of the next tick. A slot appears at most once in a staging half.
struct ObjectRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: the object leaves the snapshot
  std::uint32_t tags = 0;
  LatticePoint position;
  std::int64_t time_us = 0;
};
static_assert(sizeof(ObjectRow) == 32);

constexpr bool is_alive(std::uint32_t generation) {
  return (generation & 1) != 0;
}

/// The id of a slot, staged once per owner, before the owner's first row.
struct ObjectBirth {
  Slot slot = no_slot;
  ObjectId id{};
};

/// A query's whole definition as of the next tick. A slot appears at most once in a staging half.
struct QueryRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: removed, which is reported
  std::uint32_t k = 0;
  AnchorKind anchor = AnchorKind::fixed;
  ReportOn on = ReportOn::order;
  bool with_state = false;  ///< reports carry NeighborState
  bool vote = false;        ///< reports carry the label that the neighbours vote for
  LatticePoint position;    ///< fixed
  Slot object = no_slot;    ///< follow: its slot, stable while the query lives, alive or not
  Filter filter;
  TagFilter subject;
};

/// The half that ingestion writes while the engine computes from the other. The memory resource is
/// the engine's (pinned host memory on a GPU).
struct Staging {
  explicit Staging(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : births(memory),
        objects(memory),
        queries(memory),
        object_components(memory),
        object_labels(memory),
        query_components(memory) {}

  std::pmr::vector<ObjectBirth> births;
  std::pmr::vector<ObjectRow> objects;
  std::pmr::vector<QueryRow> queries;

  // Vector spaces fill these three; all other spaces leave them empty. Each row has as many
  // components as the space's dimension, prepared for its metric. Components of dead rows, and of
  // queries without a fixed place, mean nothing.
  std::pmr::vector<float> object_components;  ///< of `objects`, row after row
  std::pmr::vector<Label> object_labels;      ///< of `objects`
  std::pmr::vector<float> query_components;   ///< of `queries`, row after row

  bool is_empty() const { return births.empty() && objects.empty() && queries.empty(); }
  void clear() {
    births.clear();
    objects.clear();
    queries.clear();
    object_components.clear();
    object_labels.clear();
    query_components.clear();
  }
};

}  // namespace starling
