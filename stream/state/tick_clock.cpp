// SPDX-License-Identifier: Apache-2.0
// Ticks are due by the steady clock, and tau follows the wall clock: see tick_clock.hpp.
#include "starling/stream/state/tick_clock.hpp"

#include <algorithm>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/times.hpp"

namespace starling::stream {

TickClock::TickClock(std::int64_t period_us, std::int64_t start_us)
    : period_us_(period_us), next_due_us_(start_us + period_us) {
  check_invariant(period_us > 0, "a tick's period is positive");
}

TickClock::Decision TickClock::poll(std::int64_t now_us, std::int64_t wall_us, bool busy) {
  Decision decision;
  if (now_us < next_due_us_) return decision;
  const std::int64_t missed = (now_us - next_due_us_) / period_us_;
  next_due_us_ += (missed + 1) * period_us_;
  decision.overruns = static_cast<std::uint64_t>(missed);
  if (busy) {
    ++decision.overruns;
    return decision;
  }
  const std::int64_t tau_us = std::clamp(wall_us, -time_us_limit, time_us_limit);
  last_tau_us_ = std::max(tau_us, last_tau_us_.value_or(tau_us));
  decision.begin_tau_us = last_tau_us_;
  return decision;
}

}  // namespace starling::stream
