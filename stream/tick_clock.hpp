// SPDX-License-Identifier: Apache-2.0
// Decides when a server with wall-clock ticks begins a tick, and at which tau. The clock has no
// timer of its own: Ticker calls poll() when Ticker's timer expires, and tests call poll() with a
// virtual time.
#pragma once

#include <cstdint>
#include <optional>

namespace starling::stream {

class TickClock {
 public:
  /// The first tick is due one period after `start_us`, on the steady clock.
  TickClock(std::int64_t period_us, std::int64_t start_us);

  std::int64_t next_due_us() const { return next_due_us_; }

  struct Decision {
    std::optional<std::int64_t> begin_tau_us;  ///< begin a tick at this tau; std::nullopt: none
    std::uint64_t overruns = 0;                ///< ticks that were due and are skipped
  };

  /// Decides what to do at `now_us`, on the steady clock. If `busy`, a tick that is due is skipped,
  /// not queued. If several ticks are due since the last call, one begins and the others are
  /// skipped. tau is `wall_us`, or the last tau if the wall clock was set back to before it.
  Decision poll(std::int64_t now_us, std::int64_t wall_us, bool busy);

 private:
  std::int64_t period_us_;
  std::int64_t next_due_us_;
  std::optional<std::int64_t> last_tau_us_;
};

}  // namespace starling::stream
