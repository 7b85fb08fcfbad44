// SPDX-License-Identifier: Apache-2.0
// Adds up weights and weighted values: see regression.hpp.
#include "starling/knn/vectors/regression.hpp"

#include <limits>

#include "starling/knn/base/assert.hpp"

namespace starling {

double regress(Metric metric, std::span<const VectorNeighbor> list, std::span<const double> values,
               RegressionWeights weights) {
  const bool by_distance = weights == RegressionWeights::distance;
  check_invariant(!by_distance || metric != Metric::inner_product,
                  "an inner product is not a distance to weight by");
  double weight_sum = 0;
  double value_sum = 0;
  bool has_same = false;  // a neighbour at distance 0
  for (const VectorNeighbor& neighbor : list) {
    if (neighbor.row == no_row) break;
    check_invariant(neighbor.row < values.size(), "there is one value for each row of the corpus");
    const double distance = distance_of(metric, neighbor.score);
    has_same = has_same || distance == 0;
    if (by_distance && has_same && distance > 0) break;
    const double weight = by_distance && !has_same ? 1 / distance : 1;
    weight_sum += weight;
    value_sum += weight * values[neighbor.row];
  }
  if (weight_sum == 0) return std::numeric_limits<double>::quiet_NaN();
  return value_sum / weight_sum;
}

}  // namespace starling
