// SPDX-License-Identifier: Apache-2.0
// The VectorStore on CPU threads with SIMD. It keeps the rows in panels and writes them in place. A
// search scores every row. cpu/backend.cpp makes a store for the VectorEngine of a vector space.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::cpu {

struct VectorStoreOptions {
  std::uint32_t dimension = 1;
  Metric metric = Metric::l2;
  unsigned threads = 0;  ///< 0: one per core. Never changes an answer.
  bool pin_threads = false;
};

/// Makes a store. Its memory: the rows and up to a quarter more for growth, a copy of the rows of a
/// call of near_applied, and the memory of PanelSearch.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::cpu
