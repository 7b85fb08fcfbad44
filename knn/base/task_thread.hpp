// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks in the order in which they were posted. Every engine has a TaskThread
// for its ticks. CpuEngine and the CUDA engine have more for one-shot queries.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace starling {

/// The queue has no limit of its own. Its callers keep it short: an engine accepts only a few
/// ticks, and the server limits the number of one-shot queries.
class TaskThread {
 public:
  /// When the queue is empty, the thread stays awake for the time `awake` and only then sleeps. A
  /// task that is posted while the thread is awake begins sooner, because the system need not wake
  /// the thread.
  explicit TaskThread(std::chrono::microseconds awake = {})
      : awake_(awake), thread_([this] { work(); }) {}
  ~TaskThread() {
    post(nullptr);
    thread_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Appends a task to the queue. The destructor posts an empty task, which ends the thread.
  void post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      has_tasks_ = true;
    }
    posted_.notify_one();
  }

  /// Posts `work` as a task and waits until it has run. Returns its result or throws its exception.
  template <class Result, class Work>
  Result run(Work work) {
    const auto task = std::make_shared<std::packaged_task<Result()>>(std::move(work));
    post([task] { (*task)(); });
    return task->get_future().get();
  }

 private:
  void work() {
    for (;;) {
      stay_awake();
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      has_tasks_ = !tasks_.empty();
      lock.unlock();
      if (!task) return;
      task();
    }
  }

  void stay_awake() const {
    if (awake_.count() == 0) return;
    const auto until = std::chrono::steady_clock::now() + awake_;
    while (!has_tasks_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }

  const std::chrono::microseconds awake_;
  std::atomic<bool> has_tasks_{false};
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace starling
