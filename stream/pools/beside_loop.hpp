// SPDX-License-Identifier: Apache-2.0
// Runs a long function of the loop on a thread beside it, so that the loop can read and decode
// meanwhile. Server uses it to update objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>

#include "starling/knn/base/task_thread.hpp"
#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class BesideLoop {
 public:
  /// The loop must not run after the destruction of the BesideLoop.
  explicit BesideLoop(Executor& executor) : executor_(executor) {}

  /// Runs `work` on the thread and, when it has returned, `done` on the loop. Call start() only if
  /// is_busy() is false.
  void start(std::function<void()> work, std::function<void()> done);
  /// Returns true from start() until `done` begins.
  bool is_busy() const { return is_busy_; }
  /// Waits until no work is under way. Runs `done` itself, and also waits for work that `done`
  /// starts. Throws what `work` threw.
  void settle();
  /// Returns how long the loop has waited for the thread so far, over all calls.
  std::int64_t waited_us() const { return waited_us_; }

 private:
  void finish();

  Executor& executor_;
  std::function<void()> done_;
  bool is_busy_ = false;
  std::int64_t waited_us_ = 0;
  std::uint64_t number_ = 0;  ///< number of the work that is under way or comes next
  std::exception_ptr error_;
  std::atomic<bool> has_returned_{false};
  TaskThread thread_;
};

}  // namespace starling::stream
