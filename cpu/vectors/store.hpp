// The VectorStore on CPU threads and SIMD: rows in panels, written in place, every one of them
// scored. cpu/backend.cpp gives one to a VectorEngine where the space is one of vectors.
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

/// Memory: the rows, with room for a quarter more; the last apply's once more if near_applied was
/// asked; and what PanelSearch has.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::cpu
