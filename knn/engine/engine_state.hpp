// An Engine's whole state between ticks, for export and import.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// Everything an engine knows after a tick, finished or failed; importing it into another engine of
/// any kind continues with the same bytes out.
struct EngineState {
  Tick tick{};  ///< the last finished one
  std::int64_t tau_us = 0;
  bool objects_ahead = false;  ///< of that tick and its lists: a tick failed after it
  std::vector<ObjectBirth> births;
  std::vector<ObjectRow> objects;
  std::vector<QueryRow> queries;

  // Vector spaces alone fill these three, as in Staging.
  std::vector<float> object_components;
  std::vector<Label> object_labels;
  std::vector<float> query_components;

  /// A query that the tick knew, with or without lists: its removal is to be reported.
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  std::vector<Query> queries_known;  ///< by slot

  /// A list as of the tick: what the next tick's changes are told from.
  struct List {
    Slot query = no_slot;
    std::uint32_t generation = 0;  ///< of the query
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    bool with_state = false;
    std::uint32_t count = 0;
    std::uint64_t first = 0;  ///< index into neighbors and slots
    std::optional<Label> vote{};
  };
  std::vector<List> lists;
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< of the neighbours
};

}  // namespace starling
