// SPDX-License-Identifier: Apache-2.0
// Regression by k nearest neighbours: a query's value is the mean of its nearest rows' values.
// `starling knn --regress` calls it.
#pragma once

#include <cstdint>
#include <span>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// How much each neighbour counts. The names are scikit-learn's.
enum class RegressionWeights : std::uint8_t {
  uniform,   ///< all count the same
  distance,  ///< each counts by 1 / its distance; those at distance 0, if any, count alone
};

/// Returns the weighted mean of the values of a list of rows; NaN if the list is empty. The list
/// ends at its first `no_row`, if it has one. `values` has one finite number for each row of the
/// corpus. Sums are in float64, from the nearest neighbour on. For `distance`, the metric must not
/// be inner_product, whose distances may be negative.
double regress(Metric metric, std::span<const VectorNeighbor> list, std::span<const double> values,
               RegressionWeights weights);

}  // namespace starling
