// SPDX-License-Identifier: Apache-2.0
// Percentiles by the nearest-rank method, without interpolation: see percentile.hpp.
#include "starling/knn/base/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace starling {

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto nth =
      values.begin() + std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(rank) - 1, 0);
  std::ranges::nth_element(values, nth);
  return *nth;
}

}  // namespace starling
