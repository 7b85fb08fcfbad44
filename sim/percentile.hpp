// What the reports of replays and simulations say of times and distances.
#pragma once

#include <vector>

namespace starling::sim {

/// The smallest value that at least this share of all values does not exceed; 0 of none. Changes
/// their order.
double percentile(std::vector<double>& values, double share);

}  // namespace starling::sim
