// SPDX-License-Identifier: Apache-2.0
// Defines the texts of the skip reasons: see trace.hpp.
#include "starling/sim/data/traces/trace.hpp"

#include <numeric>

namespace starling::sim {

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::missing_field:
      return "missing a field";
    case SkipReason::unparsable:
      return "unparsable";
    case SkipReason::out_of_range:
      return "out of range";
    case SkipReason::null_island:
      return "at 0, 0";
    case SkipReason::too_fast:
      return "too fast";
    case SkipReason::too_many_fields:
      return "with more fields than the header";
  }
  return "unknown";
}

std::uint64_t TraceCounts::skipped_total() const {
  return std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
}

}  // namespace starling::sim
