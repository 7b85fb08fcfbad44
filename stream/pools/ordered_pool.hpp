// SPDX-License-Identifier: Apache-2.0
// Runs work on one or more threads, and completes it on the loop in the order of submission. Server
// uses a pool to decode requests, and Ticker uses a pool to encode ticks. The pool itself has no
// limit: the caller must check waiting() before it submits more work.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// The destructor drops the work that no worker has begun, and waits for the rest. The loop must
/// not run after the destruction.
class OrderedPool {
 public:
  /// A function that holds the result of the work and runs on the loop, in the order of submission.
  using Completion = std::function<void()>;
  /// A function that runs on a worker. It must not throw.
  using Work = std::function<Completion()>;

  /// Completions that are ready run in rounds. These functions are called on the loop.
  struct Rounds {
    /// Returns whether a round may begin. If it returns false, call go_on() once a round may begin.
    std::function<bool()> may_begin = [] { return true; };
    /// Returns whether the next completion, if it is ready, may run in the same round.
    std::function<bool()> takes_more = [] { return false; };
    /// Runs after the last completion of a round.
    std::function<void()> end = [] {};
  };

  OrderedPool(Executor& executor, unsigned thread_count);
  OrderedPool(Executor& executor, unsigned thread_count, ThreadPriority priority, Rounds rounds);
  OrderedPool(const OrderedPool&) = delete;
  OrderedPool& operator=(const OrderedPool&) = delete;

  void submit(Work work);
  /// Submits a completion without work. The completion runs when all earlier ones have run.
  void submit_done(Completion completion);
  /// Begins a round soon, if completions are ready.
  void go_on();

  /// Returns the number of submissions that are not completed yet.
  std::size_t waiting() const { return slots_.size(); }

 private:
  void finished(std::size_t number, Completion completion);
  void complete_round();
  void complete_next();
  bool is_next_ready() const { return !slots_.empty() && slots_.front(); }

  Executor& executor_;
  Rounds rounds_;
  std::deque<std::optional<Completion>> slots_;  ///< completions; empty while the work runs
  std::size_t first_number_ = 0;
  bool completing_ = false;           ///< a call of complete_round is posted to the loop
  std::unique_ptr<Threads> workers_;  ///< declared last, so that it ends first
};

}  // namespace starling::stream
