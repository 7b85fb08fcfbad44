// A thread that runs what it is handed, in order: an engine's own, and the one for questions.
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

/// Its queue is bounded by its callers: the few ticks that an engine accepts, and the server's
/// limit on questions.
class TaskThread {
 public:
  TaskThread() : thread_([this] { work(); }) {}
  ~TaskThread() {
    post(nullptr);
    thread_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    posted_.notify_one();
  }

  /// Posts the work and waits for it; returns or throws what it does.
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
