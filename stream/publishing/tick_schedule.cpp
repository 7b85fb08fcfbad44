// SPDX-License-Identifier: Apache-2.0
// Waits for the next tick, and reads the clocks for it: see tick_schedule.hpp.
#include "starling/stream/publishing/tick_schedule.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "starling/knn/base/times.hpp"
#include "starling/stream/state/loop_turns.hpp"

namespace starling::stream {

void TickSchedule::start(std::int64_t period_us) {
  if (const auto last_us = tables_.processor().last_tau_us())
    tables_.time().clock().go_on_from(*last_us);
  clock_.emplace(period_us, executor_.now_us());
  wait_for_due();
}

void TickSchedule::stop() {
  is_stopped_ = true;
  timer_->cancel();
}

/// Returns the time for a tick. The time follows a step of the wall clock only in this function,
/// which also moves the leases, so that no request comes between the two.
std::int64_t TickSchedule::time_of_tick() {
  const std::int64_t now_us = tables_.time().read();
  DisciplinedClock& wall = tables_.time().clock();
  if (wall.is_behind_for_long()) tables_.settled();  // settled() may begin a long update
  const std::int64_t moved_us = tables_.is_free() ? wall.adopt() : 0;
  if (moved_us > 0) adopt_wall_clock(moved_us);
  if (const auto sentence = wall.sentence()) spdlog::warn("{}", *sentence);
  return now_us + std::max<std::int64_t>(moved_us, 0);
}

void TickSchedule::adopt_wall_clock(std::int64_t moved_us) {
  tables_.processor().move_leases(moved_us);
  if (journal_ != nullptr) journal_->append(LeasesMovedRecord{moved_us});
  spdlog::warn(
      "the server's time follows the wall clock, which was set {:.1f} s ahead and stayed so. "
      "Leases keep the time that is left to them",
      static_cast<double>(moved_us) / 1e6);
}

void TickSchedule::wait_for_due() {
  const std::int64_t due_us = clock_->next_due_us();
  timer_->wait_until(due_us, [this, due_us, used_ns = process_cpu_ns()] {
    if (is_stopped_) return;
    due(due_us, process_cpu_ns() - used_ns);
    wait_for_due();
  });
}

void TickSchedule::due(std::int64_t due_us, std::int64_t cpu_used_ns) {
  const std::int64_t late_us = executor_.now_us() - due_us;
  const bool is_busy = ticks_.is_busy();
  const auto decision = clock_->poll(executor_.now_us(), time_of_tick(), is_busy);
  // If another tick is under way, one skipped tick was skipped because of it. The late timer
  // explains the other skipped ticks.
  const std::uint64_t missed =
      decision.overruns - std::min<std::uint64_t>(decision.overruns, is_busy ? 1 : 0);
  watch_.due({.begins = decision.begin_tau_us.has_value(),
              .skipped = decision.overruns,
              .missed = missed,
              .late_us = late_us,
              // The loop waits only for the server's own threads. If their work made the timer
              // late, this work used processor time.
              .is_stalled = cpu_used_ns < late_us * 1000 / 2,
              .is_log_full = is_log_full()});
  if (!decision.begin_tau_us) return;
  const auto last_us = tables_.processor().last_tau_us();
  ticks_.begin(std::max(*decision.begin_tau_us, last_us.value_or(*decision.begin_tau_us)));
}

}  // namespace starling::stream
