// SPDX-License-Identifier: Apache-2.0
// What a server runs on: one loop, its clock and timers, and threads beside it. AsioExecutor is the
// program's. A simulation gives one whose clock, order and delays follow from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace starling::stream {

/// Only the loop calls the functions.
class Timer {
 public:
  /// Cancels what waits.
  virtual ~Timer() = default;
  /// Runs `then` on the loop when the executor's clock has reached `due_us`. Call it again only
  /// from `then` or later, or after cancel().
  virtual void wait_until(std::int64_t due_us, std::function<void()> then) = 0;
  /// `then` is not called any more, unless the loop has taken it up already.
  virtual void cancel() = 0;
};

/// Threads that run tasks beside the loop, in the order in which they begin.
class Threads {
 public:
  /// Drops the tasks that have not begun, and waits for the rest.
  virtual ~Threads() = default;
  /// Any thread. The task must not throw.
  virtual void post(std::function<void()> task) = 0;
};

enum class ThreadPriority : std::uint8_t {
  normal,
  // Both give way to other threads, and so do the threads that they start. On a machine whose cores
  // are all busy, a `low` thread gets about a tenth of a normal thread's time; a `lowest` thread
  // may wait for seconds.
  low,
  lowest,
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Any thread. Returns a time, in microseconds, that never goes back. Only the difference of two
  /// of these times has a meaning.
  virtual std::int64_t now_us() const = 0;
  /// Any thread. Runs the task on the loop, after all tasks that were posted before. What the task
  /// throws ends the loop.
  virtual void post(std::function<void()> task) = 0;
  virtual std::unique_ptr<Timer> make_timer() = 0;
  virtual std::unique_ptr<Threads> make_threads(unsigned count, ThreadPriority priority) = 0;

  /// Returns the milliseconds since a value of now_us().
  double ms_since(std::int64_t since_us) const {
    return static_cast<double>(now_us() - since_us) / 1e3;
  }
};

}  // namespace starling::stream
