// SPDX-License-Identifier: Apache-2.0
// The VectorSearcher on CPU threads and SIMD. It scores every row of the corpus for every query, or
// lets shadows of the rows choose which rows it scores. cpu/backend.cpp makes it for users.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// Whether rows are filtered by their shadows (FilteredSearch). Never changes an answer.
enum class RowFilter : std::uint8_t {
  automatic,  ///< where it is faster
  always,     ///< for tests
  never,
};

/// As cpu::make_vector_searcher (cpu/backend.hpp).
std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads,
                                                    RowFilter filter = RowFilter::automatic);

}  // namespace starling::cpu
