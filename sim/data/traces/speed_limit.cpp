// SPDX-License-Identifier: Apache-2.0
// Decides which rows are kept: see speed_limit.hpp.
#include "starling/sim/data/traces/speed_limit.hpp"

#include <algorithm>
#include <cmath>

namespace starling::sim {

bool SpeedLimit::keeps(const TraceRow& row) {
  Fix fix{row.time_us, {}};
  lattice_.to_lattice(row.position, fix.point);
  const auto [entry, first] = objects_.try_emplace(row.id, Object{fix, {}, 0});
  if (first) return true;
  Object& object = entry->second;
  if (!reachable(object.kept, fix)) {
    object.agreeing =
        object.agreeing > 0 && reachable(object.refused, fix) ? object.agreeing + 1 : 1;
    object.refused = fix;
    if (object.agreeing < agreeing_rows_min) return false;
  }
  object.kept = fix;
  object.agreeing = 0;
  return true;
}

bool SpeedLimit::reachable(const Fix& from, const Fix& to) const {
  const double elapsed_s =
      std::abs(static_cast<double>(to.time_us) - static_cast<double>(from.time_us)) / 1e6;
  const double distance_m = lattice_.to_metres(distance_sq(from.point, to.point));
  return distance_m <= speed_max_mps_ * std::max(elapsed_s, elapsed_min_s);
}

}  // namespace starling::sim
