// Ticks that a caller waits for, for programs with a clock of their own: the replay, the
// simulation, the benchmarks, tests and embedding programs.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/tables/processor.hpp"

namespace starling {

/// Begins a tick, waits for the engine's result, and finishes it. Takes the engine's result handler
/// for itself. The processor must outlive it.
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
