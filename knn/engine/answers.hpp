// SPDX-License-Identifier: Apache-2.0
// One-shot queries, which belong to no stream, and an Engine's answers. Servers and embedding
// programs pass the queries to Engine::search_finished.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// A query that is asked once and belongs to no stream.
struct OneShotQuery {
  std::uint32_t k = 1;
  AnchorKind anchor = AnchorKind::fixed;  ///< fixed or follow
  LatticePoint position;
  Slot object = no_slot;
  Filter filter;
  /// For a fixed anchor in a vector space: one prepared row. Otherwise empty.
  std::vector<float> components{};
  bool vote = false;  ///< the answer carries a vote; in a vector space only
  /// The mean that the answer carries; only in a vector space. Not `distance` for inner_product.
  RegressionWeights regress = RegressionWeights::none;
};

/// The answers to one-shot queries, or copies of current lists, all from one finished tick.
struct Answers {
  struct List {
    Slot query = no_slot;  ///< the query's slot; for a one-shot query, its index in the request
    bool has_subject = false;
    ObjectId subject{};
    std::uint32_t count = 0;
    std::uint64_t first = 0;                             ///< index into neighbors
    std::uint64_t first_state = ReportedList::no_state;  ///< index into states, or no_state
    Prediction prediction{};
    /// True if a one-shot query follows an object that is not alive in the tick. The list is empty.
    bool is_unknown = false;
  };
  Tick tick{};
  std::int64_t tau_us = 0;
  std::vector<List> lists;
  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;  ///< only from read_lists, if QueryRow::with_state
  std::string error;                  ///< empty, or why there is no answer and what to do
};

}  // namespace starling
