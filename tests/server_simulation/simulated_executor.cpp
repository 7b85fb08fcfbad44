// SPDX-License-Identifier: Apache-2.0
// Runs tasks as events of the world: see simulated_executor.hpp. These events hold the loop, so it
// may outlive its executor.
#include "tests/server_simulation/simulated_executor.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/failing_new.hpp"

namespace starling::simulation {

struct SimulatedExecutor::Loop : std::enable_shared_from_this<Loop> {
  Loop(VirtualWorld& the_world, Failed the_failed, TimerRan the_timer_ran)
      : world(the_world), failed(std::move(the_failed)), timer_ran(std::move(the_timer_ran)) {}

  void post(std::function<void()> task) {
    const test::SparedAllocations spared;
    if (is_ended) return;
    tasks.push_back(std::move(task));
    if (!std::exchange(is_scheduled, true)) schedule();
  }

  void schedule() {
    world.at(std::max(world.now_us(), stalled_until_us),
             [self = shared_from_this()] { self->run_one(); });
  }

  void run_one() {
    is_scheduled = false;
    if (is_ended || tasks.empty()) return;
    const std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    run(task);
    if (!tasks.empty() && !is_ended && !std::exchange(is_scheduled, true)) schedule();
  }

  /// Runs a task of the loop or of a thread. An exception of the task ends the server.
  void run(const std::function<void()>& task) {
    try {
      std::optional<std::uint64_t> failing;
      if (world.happens(Fault::memory, 0.001)) failing = 1 + world.random().below(100);
      const AllocationFault::Part counted(world.allocation_fault(), failing);
      task();
    } catch (...) {
      const test::SparedAllocations spared;
      is_ended = true;
      failed(std::current_exception());
    }
  }

  VirtualWorld& world;
  Failed failed;
  TimerRan timer_ran;
  std::deque<std::function<void()>> tasks;
  std::int64_t stalled_until_us = 0;
  bool is_scheduled = false;
  bool is_ended = false;
};

namespace {

template <class Loop>
class SimulatedTimer final : public stream::Timer {
 public:
  explicit SimulatedTimer(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
  ~SimulatedTimer() override { cancel(); }

  void wait_until(std::int64_t due_us, std::function<void()> then) override {
    const test::SparedAllocations spared;
    const std::uint64_t number = ++*number_;
    due_us = std::max(due_us, loop_->world.now_us());
    loop_->world.at(due_us,
                    [loop = loop_, due_us, current = number_, number, then = std::move(then)] {
                      if (*current != number) return;
                      loop->post([&timer_ran = loop->timer_ran, due_us, current, number, then] {
                        if (*current != number) return;
                        timer_ran(due_us);
                        then();
                      });
                    });
  }
  void cancel() override { ++*number_; }

 private:
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<std::uint64_t> number_ = std::make_shared<std::uint64_t>(0);
};

template <class Loop>
class SimulatedThreads final : public stream::Threads {
 public:
  SimulatedThreads(std::shared_ptr<Loop> loop, unsigned count)
      : loop_(std::move(loop)), free_us_(count, 0) {}
  ~SimulatedThreads() override { *is_ended_ = true; }

  void post(std::function<void()> task) override {
    const test::SparedAllocations spared;
    VirtualWorld& world = loop_->world;
    std::int64_t& free_us = *std::ranges::min_element(free_us_);
    const std::int64_t takes_us = world.happens(Fault::stalls, 0.05)
                                      ? 50'000
                                      : static_cast<std::int64_t>(world.random().below(500));
    free_us = std::max(free_us, world.now_us()) + takes_us;
    world.at(free_us, [loop = loop_, is_ended = is_ended_, task = std::move(task)] {
      if (!loop->is_ended && !*is_ended) loop->run(task);
    });
  }

 private:
  std::shared_ptr<Loop> loop_;
  std::vector<std::int64_t> free_us_;  ///< [thread]: the time when it is free
  std::shared_ptr<bool> is_ended_ = std::make_shared<bool>(false);
};

}  // namespace

SimulatedExecutor::SimulatedExecutor(VirtualWorld& world, std::int64_t clock_us, Failed failed,
                                     TimerRan timer_ran)
    : world_(world),
      clock_us_(clock_us),
      loop_(std::make_shared<Loop>(world, std::move(failed), std::move(timer_ran))) {}

SimulatedExecutor::~SimulatedExecutor() {
  end();
  loop_->tasks.clear();
}

std::int64_t SimulatedExecutor::now_us() const {
  if (clock_us_ > 0)
    world_.pass(
        static_cast<std::int64_t>(world_.random().below(static_cast<std::uint64_t>(clock_us_))));
  return world_.now_us();
}

void SimulatedExecutor::post(std::function<void()> task) {
  loop_->post(std::move(task));
}

std::unique_ptr<stream::Timer> SimulatedExecutor::make_timer() {
  return std::make_unique<SimulatedTimer<Loop>>(loop_);
}

std::unique_ptr<stream::Threads> SimulatedExecutor::make_threads(unsigned count, ThreadPriority) {
  return std::make_unique<SimulatedThreads<Loop>>(loop_, count);
}

void SimulatedExecutor::end() {
  loop_->is_ended = true;
}

void SimulatedExecutor::stall(std::int64_t duration_us) {
  loop_->stalled_until_us = world_.now_us() + duration_us;
}

}  // namespace starling::simulation
