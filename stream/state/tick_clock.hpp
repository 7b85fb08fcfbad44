// SPDX-License-Identifier: Apache-2.0
// Decides when a server with wall-clock ticks begins a tick, and with which tau. TickClock has no
// timer of its own. Ticker calls poll() whenever its timer expires, and tests call poll() with a
// virtual time.
#pragma once

#include <cstdint>
#include <optional>

namespace starling::stream {

class TickClock {
 public:
  /// The first tick is due at `start_us` + `period_us`. `start_us` is a time of the steady clock.
  TickClock(std::int64_t period_us, std::int64_t start_us);

  std::int64_t next_due_us() const { return next_due_us_; }

  struct Decision {
    std::optional<std::int64_t> begin_tau_us;  ///< std::nullopt: begin no tick
    std::uint64_t overruns = 0;  ///< the number of ticks that were due and are skipped
  };

  /// Returns what to do at `now_us`, a time of the steady clock. If `busy` is true, every tick that
  /// is due is skipped. Otherwise one tick that is due begins, and all others are skipped. tau is
  /// `wall_us`, or the last tau if `wall_us` is earlier, because the wall clock was set back.
  Decision poll(std::int64_t now_us, std::int64_t wall_us, bool busy);

 private:
  std::int64_t period_us_;
  std::int64_t next_due_us_;
  std::optional<std::int64_t> last_tau_us_;
};

}  // namespace starling::stream
