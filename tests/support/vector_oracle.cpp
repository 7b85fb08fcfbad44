// SPDX-License-Identifier: Apache-2.0
// Implements vector_oracle in the simplest way, so that it is evidently right: see
// vector_oracle.hpp.
#include "tests/support/vector_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace starling::test {
namespace {

bool is_nearer(const VectorNeighbor& a, const VectorNeighbor& b) {
  if (a.score != b.score) return a.score < b.score;
  return a.row < b.row;
}

}  // namespace

float vector_oracle_score(Metric metric, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  if (metric == Metric::inner_product) {
    for (std::size_t j = 0; j < x.size(); ++j) sum = std::fma(x[j], y[j], sum);
    return 0.0f - sum;
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float difference = x[j] - y[j];
    sum = std::fma(difference, difference, sum);
  }
  return sum;
}

std::vector<VectorNeighbor> vector_oracle(Metric metric, VectorsView corpus, VectorsView queries,
                                          std::uint32_t k, VectorRow first_self) {
  std::vector<VectorNeighbor> lists;
  for (VectorRow query = 0; query < queries.rows(); ++query) {
    std::vector<VectorNeighbor> all;
    for (VectorRow row = 0; row < corpus.rows(); ++row) {
      const bool is_self = first_self != no_row && row == std::uint64_t{first_self} + query;
      if (is_self) continue;
      all.push_back({vector_oracle_score(metric, queries.row(query), corpus.row(row)), row});
    }
    std::sort(all.begin(), all.end(), is_nearer);
    all.resize(k, {std::numeric_limits<float>::infinity(), no_row});
    lists.insert(lists.end(), all.begin(), all.end());
  }
  return lists;
}

}  // namespace starling::test
