// SPDX-License-Identifier: Apache-2.0
// Waits for the results of ticks that run again: see recovered_ticks.hpp.
#include "starling/stream/publishing/recovered_ticks.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

bool RecoveredResults::keep(std::unique_ptr<TickResult>& result) {
  const std::lock_guard lock(mutex_);
  if (!is_keeping_) return false;
  const Tick tick = result->tick;
  results_[tick] = std::move(result);
  changed_.notify_one();
  return true;
}

void RecoveredResults::set_keeping(bool is_keeping) {
  const std::lock_guard lock(mutex_);
  is_keeping_ = is_keeping;
}

void RecoveredResults::wait_for_room(const Processor& processor) {
  std::unique_lock lock(mutex_);
  while (!processor.has_room()) changed_.wait_for(lock, std::chrono::milliseconds(1));
}

std::unique_ptr<TickResult> RecoveredResults::take(Tick tick) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return results_.contains(tick); });
  return std::move(results_.extract(tick).mapped());
}

void RecoveredTicks::begin(std::int64_t tau_us) {
  results_->set_keeping(true);
  results_->wait_for_room(processor_);
  check_invariant(processor_.begin_tick(tau_us), "an engine with room takes a tick");
  objects_.push_back(processor_.objects().alive_count());
}

TickReport RecoveredTicks::finish(const std::string& error) {
  auto result = take_oldest();
  const std::uint64_t objects = objects_.front();
  objects_.pop_front();
  if (error.empty() && !result->error.empty())
    throw std::runtime_error("tick " + std::to_string(to_number(result->tick)) +
                             " of the log, which once succeeded, fails now: " + result->error +
                             ". Nothing was changed; give the server more memory, or the engine "
                             "that it had (--engine), and start it again");
  if (!error.empty()) {
    result->error = error;
    result->lists = {};
    result->objects = objects;
  }
  return processor_.finish_tick(std::move(result));
}

TickReport RecoveredTicks::finish_open() {
  auto result = take_oldest();
  objects_.pop_front();
  return processor_.finish_tick(std::move(result));
}

std::unique_ptr<TickResult> RecoveredTicks::take_oldest() {
  return results_->take(Tick{to_number(processor_.last_tick()) + 1});
}

}  // namespace starling::stream
