// SPDX-License-Identifier: Apache-2.0
// Numbers the submissions, and holds each completion back until all earlier ones have run: see
// ordered_pool.hpp.
#include "starling/stream/pools/ordered_pool.hpp"

#include <utility>

namespace starling::stream {

OrderedPool::OrderedPool(Executor& executor, unsigned thread_count)
    : OrderedPool(executor, thread_count, ThreadPriority::normal, Rounds()) {}

OrderedPool::OrderedPool(Executor& executor, unsigned thread_count, ThreadPriority priority,
                         Rounds rounds)
    : executor_(executor),
      rounds_(std::move(rounds)),
      workers_(executor.make_threads(thread_count, priority)) {}

void OrderedPool::submit(Work work) {
  const std::size_t number = first_number_ + slots_.size();
  slots_.emplace_back();
  workers_->post([this, number, work = std::move(work)] {
    executor_.post(
        [this, number, completion = work()]() mutable { finished(number, std::move(completion)); });
  });
}

void OrderedPool::submit_done(Completion completion) {
  slots_.emplace_back(std::move(completion));
  go_on();
}

void OrderedPool::finished(std::size_t number, Completion completion) {
  slots_[number - first_number_] = std::move(completion);
  go_on();
}

// The round runs after the calls of finished() that are already queued on the loop, so that it can
// complete their submissions, too.
void OrderedPool::go_on() {
  if (!is_next_ready() || std::exchange(completing_, true)) return;
  executor_.post([this] { complete_round(); });
}

// Completes a few submissions, and posts the next round to the loop. In one round, many ready
// submissions would delay a tick.
void OrderedPool::complete_round() {
  completing_ = false;
  if (!rounds_.may_begin()) return;
  do complete_next();
  while (is_next_ready() && rounds_.takes_more());
  rounds_.end();
  go_on();
}

void OrderedPool::complete_next() {
  const Completion completion = std::move(*slots_.front());
  slots_.pop_front();
  ++first_number_;
  completion();
}

}  // namespace starling::stream
