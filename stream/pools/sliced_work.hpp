// SPDX-License-Identifier: Apache-2.0
// Runs long functions of the loop in slices, one function after another, so that no function
// occupies the loop for long. Turns uses it to change the tables, and Ticker to sort and send.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class SlicedWork {
 public:
  /// Does a part of the work that takes much less than a millisecond. Returns whether all is done.
  using Step = std::function<bool()>;
  /// How long a turn of the loop goes on with further steps.
  static constexpr std::int64_t slice_us = 1000;

  /// The loop must not run after the destruction of the SlicedWork.
  explicit SlicedWork(Executor& executor) : executor_(executor) {}

  /// Calls `step` until it returns true, and then `done`. If no other work is under way, the first
  /// slice runs before start() returns.
  void start(Step step, std::function<void()> done);
  /// Like start(), but puts the work directly after the work that is under way.
  void start_next(Step step, std::function<void()> done);
  /// Returns whether work is under way or waits. Before the last `done` is called, it becomes
  /// false.
  bool is_busy() const { return !works_.empty(); }

 private:
  struct Work {
    Step step;
    std::function<void()> done;
  };

  void run();

  Executor& executor_;
  std::deque<Work> works_;  ///< the front is under way
};

}  // namespace starling::stream
