// SPDX-License-Identifier: Apache-2.0
// The VectorStore on CPU threads and SIMD: rows in panels, written in place; a search scores every
// row. cpu/backend.cpp makes one for the VectorEngine of a vector space.
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

/// Memory: the rows with up to a quarter of spare room; a copy of the rows of the last
/// near_applied; and the memory of PanelSearch.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::cpu
