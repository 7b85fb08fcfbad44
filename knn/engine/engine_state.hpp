// SPDX-License-Identifier: Apache-2.0
// The whole state of an Engine between ticks, for export and import. ProcessorState contains it.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// All that an engine needs to continue after a finished or failed tick. An engine of any kind that
/// imports this state continues with the same output, byte for byte.
struct EngineState {
  Tick tick{};  ///< the last finished tick
  std::int64_t tau_us = 0;
  bool objects_ahead = false;  ///< a later tick failed, so the objects are newer than the lists
  std::vector<ObjectBirth> births;
  std::vector<ObjectRow> objects;
  std::vector<QueryRow> queries;

  // Only vector spaces fill these three arrays, as in Staging.
  std::vector<float> object_components;
  std::vector<Targets> object_targets;
  std::vector<float> query_components;

  /// A query of the tick. A query without lists is stored too, because its removal must be reported
  /// later.
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  std::vector<Query> queries_known;  ///< ordered by slot

  /// A list of the tick. The next tick compares its lists with these.
  struct List {
    Slot query = no_slot;
    std::uint32_t generation = 0;  ///< the generation of the query's slot
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    bool with_state = false;
    std::uint32_t count = 0;
    std::uint64_t first = 0;  ///< index into neighbors and slots
    Prediction prediction{};
  };
  std::vector<List> lists;
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< the slot of each entry of `neighbors`, in the same order
};

}  // namespace starling
