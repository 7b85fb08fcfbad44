// SPDX-License-Identifier: Apache-2.0
// Percentiles of measured values, for the reports of replays, simulations and benchmarks.
#pragma once

#include <vector>

namespace starling {

/// Returns the smallest of the values that is at least as large as the fraction `share` (0 to 1) of
/// all values. Returns 0 if there are no values.
double percentile(std::vector<double> values, double share);

inline double median(const std::vector<double>& values) {
  return percentile(values, 0.5);
}

}  // namespace starling
