// SPDX-License-Identifier: Apache-2.0
// The engine's thread puts results into a mailbox, and the caller's thread waits for them: see
// lock_step.hpp.
#include "starling/knn/tables/lock_step.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/usage.hpp"

namespace starling {

struct LockStep::Mailbox {
  struct Arrival {
    std::unique_ptr<TickResult> result;
    std::chrono::steady_clock::time_point at;
  };

  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Arrival> arrivals;  ///< sorted by tick
};

LockStep::LockStep(Processor& processor)
    : processor_(processor), mailbox_(std::make_shared<Mailbox>()) {
  processor_.engine().set_result_handler([mailbox = mailbox_](std::unique_ptr<TickResult> result) {
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->arrivals.push_back({std::move(result), std::chrono::steady_clock::now()});
    }
    mailbox->arrived.notify_one();
  });
}

TickReport LockStep::advance(std::int64_t tau_us) {
  check_usage(!processor_.tick_under_way(), "advance: a tick is under way; call finish first");
  begin(tau_us);
  return finish();
}

void LockStep::begin(std::int64_t tau_us) {
  // The constructor's handler shares the mailbox until the engine gets another handler.
  check_usage(
      mailbox_.use_count() > 1,
      "begin: the engine has got another result handler, so no result would arrive; make one "
      "LockStep for a processor, and set no handler beside it");
  {
    // An engine without room has ticks under way. It has room at the latest when it delivers the
    // last of their results.
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->arrived.wait(lock, [this] { return processor_.has_room(); });
  }
  const auto now = std::chrono::steady_clock::now();
  check_invariant(processor_.begin_tick(tau_us), "an engine that has room takes the next tick");
  begun_.push_back(now);
}

TickReport LockStep::finish() {
  check_usage(!begun_.empty(), "finish: no tick is under way; call begin first");
  Mailbox::Arrival arrival;
  {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->arrived.wait(lock, [this] { return !mailbox_->arrivals.empty(); });
    arrival = std::move(mailbox_->arrivals.front());
    mailbox_->arrivals.pop_front();
  }
  last_tick_ms_ = std::chrono::duration<double, std::milli>(arrival.at - begun_.front()).count();
  begun_.pop_front();
  return processor_.finish_tick(std::move(arrival.result));
}

}  // namespace starling
