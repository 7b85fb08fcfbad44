// SPDX-License-Identifier: Apache-2.0
// Adds up weights and weighted values: see regression.hpp.
#include "starling/knn/vectors/regression.hpp"

#include <cmath>
#include <vector>

#include "starling/knn/base/usage.hpp"

namespace starling {

double regress(std::span<const Sample> samples, RegressionWeights weights) {
  check_usage(weights != RegressionWeights::none,
              "regress: the weights are none; choose uniform or distance");
  const bool by_distance = weights == RegressionWeights::distance;
  double weight_sum = 0;
  double value_sum = 0;
  bool has_same = false;  // a sample at distance 0
  for (const Sample& sample : samples) {
    if (std::isnan(sample.value)) continue;
    check_usage(!by_distance || sample.distance >= 0,
                "regress: a distance is negative; choose uniform weights");
    has_same = has_same || sample.distance == 0;
    if (by_distance && has_same && sample.distance > 0) break;
    const double weight = by_distance && !has_same ? 1 / sample.distance : 1;
    weight_sum += weight;
    value_sum += weight * sample.value;
  }
  if (weight_sum == 0) return no_value;
  const double mean = value_sum / weight_sum;
  return std::isnan(mean) ? no_value : mean;
}

double regress(Metric metric, std::span<const VectorNeighbor> list, std::span<const double> values,
               RegressionWeights weights) {
  check_usage(weights != RegressionWeights::distance || metric != Metric::inner_product,
              "regress: an inner product may be negative, so it is no weight; choose uniform");
  std::vector<Sample> samples;
  samples.reserve(list.size());
  for (const VectorNeighbor& neighbor : list) {
    if (neighbor.row == no_row) break;
    check_usage(neighbor.row < values.size(), "regress: a neighbour is row ", neighbor.row,
                ", but there are ", values.size(), " values; pass one for each row of the corpus");
    samples.push_back({values[neighbor.row], distance_of(metric, neighbor.score)});
  }
  return regress(samples, weights);
}

}  // namespace starling
