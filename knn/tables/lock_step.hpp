// SPDX-License-Identifier: Apache-2.0
// Ticks that the caller waits for, for programs with their own clock: the replay, the simulation,
// the benchmarks, the tests and embedding programs.
#pragma once

#include <cstdint>
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

  TickReport advance(std::int64_t tau_us);

 private:
  struct Mailbox;
  Processor& processor_;
  std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace starling
