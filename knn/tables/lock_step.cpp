// SPDX-License-Identifier: Apache-2.0
// The engine's thread puts the result into a mailbox, and the caller's thread waits for it: see
// lock_step.hpp.
#include "starling/knn/tables/lock_step.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling {

struct LockStep::Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::unique_ptr<TickResult> result;
};

LockStep::LockStep(Processor& processor)
    : processor_(processor), mailbox_(std::make_shared<Mailbox>()) {
  processor_.engine().set_result_handler([mailbox = mailbox_](std::unique_ptr<TickResult> result) {
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->result = std::move(result);
    }
    mailbox->arrived.notify_one();
  });
}

TickReport LockStep::advance(std::int64_t tau_us) {
  check_invariant(processor_.begin_tick(tau_us),
                  "no other tick is under way when a lock-step tick begins");
  std::unique_lock lock(mailbox_->mutex);
  mailbox_->arrived.wait(lock, [this] { return mailbox_->result != nullptr; });
  return processor_.finish_tick(std::move(mailbox_->result));
}

}  // namespace starling
