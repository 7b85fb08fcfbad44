// SPDX-License-Identifier: Apache-2.0
// Decides when ticks of the wall clock begin: one each period, at the time of the server's clock.
// Ticks on request begin in Ticker::advance() instead. Ticker owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "starling/stream/journal/journal.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/publishing/tick_watch.hpp"
#include "starling/stream/state/tick_clock.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class TickSchedule {
 public:
  /// The functions of the ticker that the schedule calls.
  struct Ticks {
    std::function<bool()> is_busy;  ///< no tick may begin now
    std::function<void(std::int64_t tau_us)> begin;
  };
  /// `journal` is null if the server has no log.
  TickSchedule(Executor& executor, Tables& tables, Journal* journal, TickWatch& watch, Ticks ticks)
      : executor_(executor),
        tables_(tables),
        journal_(journal),
        watch_(watch),
        ticks_(std::move(ticks)),
        timer_(executor.make_timer()) {}

  /// From now on, begins one tick each `period_us`.
  void start(std::int64_t period_us);
  /// Begins no further tick.
  void stop();
  bool is_stopped() const { return is_stopped_; }

  /// Whether no tick may begin because the log's disk is full.
  bool is_log_full() const { return journal_ != nullptr && journal_->commits().is_full(); }

 private:
  std::int64_t time_of_tick();
  void adopt_wall_clock(std::int64_t moved_us);
  void wait_for_due();
  void due(std::int64_t due_us, std::int64_t cpu_used_ns);

  Executor& executor_;
  Tables& tables_;
  Journal* journal_;
  TickWatch& watch_;
  Ticks ticks_;
  std::unique_ptr<Timer> timer_;
  std::optional<TickClock> clock_;  ///< std::nullopt: ticks only on request
  bool is_stopped_ = false;
};

}  // namespace starling::stream
