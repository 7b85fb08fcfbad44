// SPDX-License-Identifier: Apache-2.0
// The server's time: when leases begin to count, how far a requested tick may go, and which event
// times lie too far in the future. TickSchedule moves the time forward, and requests read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/state/disciplined_clock.hpp"

namespace starling::stream {

struct TickTimeOptions {
  bool is_manual = false;                     ///< ticks only on request
  std::optional<std::int64_t> future_max_us;  ///< see ServerOptions; std::nullopt: no limit
  std::function<std::int64_t()> boot_now_us;  ///< see ServerOptions; called on the loop
  std::function<std::int64_t()> wall_now_us;
  std::int64_t clock_step_wait_us = 0;
};

/// Only the loop calls the functions.
class TickTime {
 public:
  TickTime(const TickTimeOptions& options, const Processor& processor)
      : options_(options), processor_(processor), clock_(options.clock_step_wait_us) {}

  bool is_manual() const { return options_.is_manual; }

  /// Returns the time from which a lease that is put now counts. With wall-clock ticks, this is the
  /// time of the DisciplinedClock, but not less than tau of the last tick. With manual ticks, this
  /// is tau of the last tick, or std::nullopt before the first tick.
  std::optional<std::int64_t> base_us();
  /// Returns the time from which the step of the next requested tick counts: tau of the last tick,
  /// or the wall clock's time before the first tick.
  std::int64_t step_base_us() const;
  /// Returns the latest event time that a row may have now.
  std::int64_t event_max_us();

  /// The number of steps of the wall clock, and the seconds by which the wall clock is now ahead of
  /// the server's time. With manual ticks, both functions return 0.
  std::uint64_t clock_steps() const { return is_manual() ? 0 : clock_.steps(); }
  double clock_offset_s() const;

  /// The clock of wall-clock ticks.
  DisciplinedClock& clock() { return clock_; }
  /// Reads the clock. Call it with wall-clock ticks only.
  std::int64_t read() { return clock_.read(options_.boot_now_us(), options_.wall_now_us()); }

 private:
  TickTimeOptions options_;
  const Processor& processor_;
  DisciplinedClock clock_;
};

}  // namespace starling::stream
