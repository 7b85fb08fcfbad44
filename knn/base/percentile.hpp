// SPDX-License-Identifier: Apache-2.0
// Percentiles of measured values, for the reports of replays, simulations and benchmarks.
#pragma once

#include <vector>

namespace starling {

/// Returns the smallest value for which at least the fraction `share` (0 to 1) of all values is
/// less than or equal to it. Returns 0 if there are no values.
double percentile(std::vector<double> values, double share);

inline double median(const std::vector<double>& values) {
  return percentile(values, 0.5);
}

}  // namespace starling
