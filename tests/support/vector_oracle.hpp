// Every list of nearest vectors by scoring and sorting all rows: what every VectorSearcher is held
// against. It shares the declarations of knn/words/metric.hpp and no code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::test {

/// The score of two prepared rows by the recipe at VectorNeighbor, one component after the other.
float vector_oracle_score(Metric metric, std::span<const float> x, std::span<const float> y);

/// k entries for each query, as VectorSearcher::search writes them, of prepared rows. `first_self`
/// is the row that query 0 is of the corpus, or no_row.
std::vector<VectorNeighbor> vector_oracle(Metric metric, VectorsView corpus, VectorsView queries,
                                          std::uint32_t k, VectorRow first_self);

}  // namespace starling::test
