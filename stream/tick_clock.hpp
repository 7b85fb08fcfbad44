// SPDX-License-Identifier: Apache-2.0
// Decides when a wall-clock server ticks, and at which tau. Sans-IO: the server's timer asks it,
// the tests drive it on a virtual clock.
#pragma once

#include <cstdint>
#include <optional>

namespace starling::stream {

class TickClock {
 public:
  /// The first tick is due one period after `start_us`, on a clock that never goes back.
  TickClock(std::int64_t period_us, std::int64_t start_us);

  std::int64_t next_due_us() const { return next_due_us_; }

  struct Decision {
    std::optional<std::int64_t> begin_tau_us;  ///< begin a tick at this tau
    std::uint64_t overruns = 0;                ///< ticks that fell due and are skipped for good
  };

  /// What to do at `now_us`. While the last tick is `busy`, one that falls due is skipped, never
  /// queued. Of several ticks that fell due since the last call only one begins. tau is the wall
  /// clock, held where that goes back.
  Decision poll(std::int64_t now_us, std::int64_t wall_us, bool busy);

 private:
  std::int64_t period_us_;
  std::int64_t next_due_us_;
  std::optional<std::int64_t> last_tau_us_;
};

}  // namespace starling::stream
