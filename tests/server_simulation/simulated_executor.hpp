// SPDX-License-Identifier: Apache-2.0
// The executor of a simulated server. Its loop and its threads take turns in the world's one
// thread. Each reading of the clock may take time, so that slices of work end as on a slow machine.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "starling/stream/pools/executor.hpp"
#include "tests/server_simulation/virtual_world.hpp"

namespace starling::simulation {

class SimulatedExecutor final : public stream::Executor {
 public:
  /// Called with the exception that a task of the loop or of a thread has thrown. No further task
  /// runs then.
  using Failed = std::function<void(std::exception_ptr)>;
  /// Called when a timer runs, with the time at which it should have run.
  using TimerRan = std::function<void(std::int64_t due_us)>;
  SimulatedExecutor(VirtualWorld& world, std::int64_t clock_us, Failed failed, TimerRan timer_ran);
  ~SimulatedExecutor() override;

  std::int64_t now_us() const override;
  void post(std::function<void()> task) override;
  std::unique_ptr<stream::Timer> make_timer() override;
  std::unique_ptr<stream::Threads> make_threads(unsigned count, ThreadPriority priority) override;

  /// Ends the executor: no task runs any more. Call it before the objects that tasks use are
  /// destroyed.
  void end();
  void stall(std::int64_t duration_us);

 private:
  struct Loop;

  VirtualWorld& world_;
  const std::int64_t clock_us_;  ///< how long a reading of the clock takes, at most
  std::shared_ptr<Loop> loop_;
};

}  // namespace starling::simulation
