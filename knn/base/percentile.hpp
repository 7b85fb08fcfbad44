// Percentiles of measured values, for the reports of replays, simulations and benchmarks.
#pragma once

#include <vector>

namespace starling {

/// The smallest value that at least `share` (0 to 1) of all values do not exceed; 0 if there are
/// none.
double percentile(std::vector<double> values, double share);

inline double median(const std::vector<double>& values) {
  return percentile(values, 0.5);
}

}  // namespace starling
