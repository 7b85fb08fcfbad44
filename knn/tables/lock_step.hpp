// SPDX-License-Identifier: Apache-2.0
// Ticks that the caller waits for, for programs with their own clock: the replay, the simulation,
// the benchmarks, the tests and embedding programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

#include "starling/knn/tables/processor.hpp"

namespace starling {

/// Begins a tick, waits for the engine's result, and finishes the tick. The constructor sets the
/// engine's result handler. The processor must outlive the LockStep. Example:
/// examples/own_clock.cpp
///
///     const starling::TickReport report = ticks.advance(tau_us);
class LockStep {
 public:
  explicit LockStep(Processor& processor);
  LockStep(const LockStep&) = delete;
  LockStep& operator=(const LockStep&) = delete;

  /// Begins a tick, waits for its result, and returns its report. Call only while no tick is under
  /// way.
  TickReport advance(std::int64_t tau_us);

  /// Waits until the engine has room, then begins a tick. Between begin and finish, a program can
  /// update objects or use the last report while the engine computes.
  void begin(std::int64_t tau_us);
  /// Waits for the result of the oldest tick under way, and returns its report.
  TickReport finish();
  /// Returns the milliseconds of the tick that was finished last, from begin to the arrival of its
  /// result.
  double last_tick_ms() const { return last_tick_ms_; }

 private:
  struct Mailbox;
  Processor& processor_;
  std::shared_ptr<Mailbox> mailbox_;
  std::deque<std::chrono::steady_clock::time_point>
      begun_;  ///< the beginning of each tick under way
  double last_tick_ms_ = 0;
};

}  // namespace starling
