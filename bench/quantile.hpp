// Quantiles of measured values, as all tables of the benchmarks give them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace starling::bench {

/// The smallest value that at least this share of all does not exceed; of none: 0.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(values, at);
  return *at;
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace starling::bench
