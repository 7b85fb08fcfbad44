// SPDX-License-Identifier: Apache-2.0
// What a server runs on: one loop, its clock and timers, and threads beside it. The program uses
// AsioExecutor. A simulation uses an executor whose clock, order and delays follow from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "starling/knn/base/affinity.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Timer {
 public:
  /// Cancels the wait.
  virtual ~Timer() = default;
  /// Runs `then` on the loop when the executor's clock has reached `due_us`. Call it again only
  /// from `then` or later, or after cancel().
  virtual void wait_until(std::int64_t due_us, std::function<void()> then) = 0;
  /// Ends the wait without a call of `then`, unless `then` is already queued on the loop.
  virtual void cancel() = 0;
};

/// Threads that run tasks beside the loop. They begin the tasks in the order of post().
class Threads {
 public:
  /// Drops the tasks that have not begun, and waits for the rest.
  virtual ~Threads() = default;
  /// Any thread may call it. The task must not throw.
  virtual void post(std::function<void()> task) = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Returns a time, in microseconds, that never goes back. Only the difference of two of these
  /// times has a meaning. Any thread may call it.
  virtual std::int64_t now_us() const = 0;
  /// Returns the processor time that the calling thread has used, in microseconds. It stands still
  /// while other threads have the processor. In a simulation, it is now_us().
  virtual std::int64_t worked_us() const { return now_us(); }
  /// Runs the task on the loop, after all tasks that were posted before. An exception from the task
  /// ends the loop. Any thread may call it.
  virtual void post(std::function<void()> task) = 0;
  virtual std::unique_ptr<Timer> make_timer() = 0;
  virtual std::unique_ptr<Threads> make_threads(unsigned count, ThreadPriority priority) = 0;

  /// Returns the milliseconds since a value of now_us().
  double ms_since(std::int64_t since_us) const {
    return static_cast<double>(now_us() - since_us) / 1e3;
  }
};

}  // namespace starling::stream
