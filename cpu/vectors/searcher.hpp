// SPDX-License-Identifier: Apache-2.0
// The VectorSearcher on CPU threads with SIMD. For each query it scores either every row of the
// corpus, or only the rows that remain after a filter by shadows. Rows of up to three components
// may be in a tree instead. cpu/backend.cpp makes the searcher.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// Whether rows are filtered by their shadows (FilteredSearch), or found by a RowTree. The choice
/// never changes an answer.
enum class RowFilter : std::uint8_t {
  automatic,  ///< the way that is likely to save time
  always,     ///< filters by shadows, for tests
  never,
  tree,  ///< uses the tree wherever it is possible, for tests
};

/// Makes a searcher with this number of threads; 0: one thread for each core.
/// cpu::make_vector_searcher (cpu/backend.hpp) calls it.
std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads,
                                                    RowFilter filter = RowFilter::automatic);

}  // namespace starling::cpu
