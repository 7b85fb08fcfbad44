// SPDX-License-Identifier: Apache-2.0
// vector_oracle finds lists of vectors by scoring and sorting all rows. Tests compare every
// VectorSearcher with it. It uses only declarations of knn/words/metric.hpp and shares no code with
// the product.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::test {

/// Returns the score of two prepared rows as VectorNeighbor defines it, component by component.
float vector_oracle_score(Metric metric, std::span<const float> x, std::span<const float> y);

/// Returns ln(r) as the divergences of knn/words/recipe.hpp compute it. r is at least 2^-126.
float vector_oracle_logarithm(float r);

/// Returns k entries for each query, as VectorSearcher::search writes them. All rows must be
/// prepared. `first_self` has the meaning of VectorSearch::first_self.
std::vector<VectorNeighbor> vector_oracle(Metric metric, VectorsView corpus, VectorsView queries,
                                          std::uint32_t k, VectorRow first_self);

}  // namespace starling::test
