// SPDX-License-Identifier: Apache-2.0
// Regression by k nearest neighbours: a query's value is the mean of its nearest rows' values. The
// vector engine and `starling knn` call it.
#pragma once

#include <span>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// One neighbour's value. RegressionWeights::distance weighs it by 1 / distance.
struct Sample {
  double value = no_value;
  double distance = 0;
};

/// Returns the weighted mean of the values. The samples must be ordered from the nearest on.
/// Samples of no_value do not count; if there are no others, returns no_value. Sums are in float64,
/// from the nearest neighbour on. A sum beyond float64 is infinite, and the mean is then infinite
/// or no_value. `weights` must not be none. For `distance`, the distances must not be negative.
///
/// In a tick, set QueryDefinition::regress instead. Example: examples/vector_ticks.cpp
///
///     query.regress = starling::RegressionWeights::uniform;
double regress(std::span<const Sample> samples, RegressionWeights weights);

/// Returns the mean of a list of rows. The list ends at its first `no_row`, if it has one. `values`
/// has one number for each row of the corpus. For `distance`, the metric must not be inner_product.
double regress(Metric metric, std::span<const VectorNeighbor> list, std::span<const double> values,
               RegressionWeights weights);

}  // namespace starling
