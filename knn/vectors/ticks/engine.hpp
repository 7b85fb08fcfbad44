// The Engine of a vector space, on any hardware that a VectorStore is for: objects by slot,
// standing queries, lists and what changed, all on the host; scores and scans are the store's.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/store.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling {

struct VectorEngineOptions {
  std::uint32_t dimension = 1;  ///< 1 to dimension_max
  Metric metric = Metric::l2;
};

/// An engine with the store's name, for the space of these options. cpu::make_engine and
/// gpu::make_engine call it. Throws std::invalid_argument if the dimension is out of range.
///
/// Questions are answered between ticks, whatever they ask. Memory: what the store needs; 24 bytes
/// an object with its id, tags, time and label 8 more; 24 bytes for each of 1.5 k neighbours a
/// list.
std::unique_ptr<Engine> make_vector_engine(const VectorEngineOptions& options,
                                           std::unique_ptr<VectorStore> store);

}  // namespace starling
