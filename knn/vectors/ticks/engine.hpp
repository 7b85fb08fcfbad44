// SPDX-License-Identifier: Apache-2.0
// The Engine of a vector space, on any hardware that has a VectorStore. Objects, standing queries,
// lists and their changes are on the host; the store computes the scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/store.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling {

struct VectorEngineOptions {
  std::uint32_t dimension = 1;  ///< 1 to dimension_max
  Metric metric = Metric::l2;
  /// Components are copied to a device before their tick begins, in parts of at least this many
  /// bytes.
  std::size_t part_bytes_min = std::size_t{1} << 20;
};

/// Makes an engine with the name of the store, for the space of these options. cpu::make_engine and
/// gpu::make_engine call it. Throws std::invalid_argument if the dimension is out of range.
///
/// One-shot queries are always answered between ticks. Memory: the memory of the store; for each
/// object, 40 bytes for the id, tags, time, label and value; for each list, 24 bytes for each of
/// about 1.5 k neighbours.
std::unique_ptr<Engine> make_vector_engine(const VectorEngineOptions& options,
                                           std::unique_ptr<VectorStore> store);

}  // namespace starling
