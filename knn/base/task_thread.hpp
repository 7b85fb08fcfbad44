// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks in the order in which they were posted. Every engine has a TaskThread
// for its ticks. CpuEngine and the CUDA engine have a second TaskThread for one-shot queries.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace starling {

/// The queue itself has no limit. Its callers keep it short: an engine accepts only a few ticks,
/// and the server limits the number of one-shot queries.
class TaskThread {
 public:
  TaskThread() : thread_([this] { work(); }) {}
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
    }
    posted_.notify_one();
  }

  /// Posts the work and waits for it. Returns the result of the work, or throws its exception.
  template <class Result, class Work>
  Result run(Work work) {
    const auto task = std::make_shared<std::packaged_task<Result()>>(std::move(work));
    post([task] { (*task)(); });
    return task->get_future().get();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (!task) return;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace starling
