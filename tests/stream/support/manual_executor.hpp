// SPDX-License-Identifier: Apache-2.0
// An executor whose clock stands still until the test moves it, and whose loop runs only when the
// test calls run(). Its threads carry out each task within post().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

class ManualExecutor final : public Executor {
 public:
  std::int64_t now_us() const override { return now_us_ += us_per_look_; }
  std::int64_t worked_us() const override { return now_us() - stood_us_; }
  void post(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    posted_.notify_one();
  }
  std::unique_ptr<Timer> make_timer() override {
    timers_.push_back(std::make_shared<Due>());
    return std::make_unique<ManualTimer>(timers_.back());
  }
  std::unique_ptr<Threads> make_threads(unsigned /*count*/, ThreadPriority /*priority*/) override {
    return std::make_unique<InlineThreads>();
  }

  /// Runs the tasks of the loop until no task waits.
  void run() {
    while (run_one()) continue;
  }
  /// Runs one task. Returns false if no task waits.
  bool run_one() {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }
  /// Runs tasks until `is_met` returns true, also those that other threads post. Returns false
  /// after 30 s.
  bool run_until(const std::function<bool()>& is_met) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (run(); !is_met(); run()) {
      std::unique_lock lock(mutex_);
      if (!posted_.wait_until(lock, deadline, [this] { return !tasks_.empty(); })) return false;
    }
    return true;
  }
  /// From now on, each look at the clock takes this long, so that long work ends its slices.
  void set_us_per_look(std::int64_t us_per_look) { us_per_look_ = us_per_look; }
  /// Moves the clock as if another program had the processor meanwhile.
  void stand(std::int64_t duration_us) {
    now_us_ += duration_us;
    stood_us_ += duration_us;
  }
  /// Moves the clock, and calls the timers that are due.
  void advance(std::int64_t duration_us) {
    now_us_ += duration_us;
    for (const auto& timer : std::vector(timers_))
      if (timer->then && timer->due_us <= now_us_) std::exchange(timer->then, {})();
  }

 private:
  struct Due {
    std::int64_t due_us = 0;
    std::function<void()> then;
  };
  class ManualTimer final : public Timer {
   public:
    explicit ManualTimer(std::shared_ptr<Due> due) : due_(std::move(due)) {}
    ~ManualTimer() override { due_->then = {}; }
    void wait_until(std::int64_t due_us, std::function<void()> then) override {
      *due_ = {due_us, std::move(then)};
    }
    void cancel() override { due_->then = {}; }

   private:
    std::shared_ptr<Due> due_;
  };
  class InlineThreads final : public Threads {
   public:
    void post(std::function<void()> task) override { task(); }
  };

  mutable std::atomic<std::int64_t> now_us_ = 1'000'000;  ///< engines' threads look at it, too
  std::int64_t us_per_look_ = 0;
  std::atomic<std::int64_t> stood_us_ = 0;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::shared_ptr<Due>> timers_;
};

}  // namespace starling::stream
