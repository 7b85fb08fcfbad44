// SPDX-License-Identifier: Apache-2.0
// Derives each time from the last tick and the clocks: see tick_time.hpp.
#include "starling/stream/tables/tick_time.hpp"

#include <algorithm>
#include <limits>

#include "starling/knn/base/times.hpp"

namespace starling::stream {

std::optional<std::int64_t> TickTime::base_us() {
  const auto last_us = processor_.last_tau_us();
  if (is_manual()) return last_us;
  const std::int64_t now_us = read();
  return std::max(now_us, last_us.value_or(now_us));
}

std::int64_t TickTime::step_base_us() const {
  const auto last_us = processor_.last_tau_us();
  return last_us ? *last_us : options_.wall_now_us();
}

std::int64_t TickTime::event_max_us() {
  constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();
  const auto time_us = base_us();
  if (!options_.future_max_us || !time_us) return no_limit;
  return saturating_add(*time_us, *options_.future_max_us);
}

double TickTime::clock_offset_s() const {
  return is_manual() ? 0 : static_cast<double>(clock_.offset_us()) / 1e6;
}

}  // namespace starling::stream
