// Fork-join over a fixed set of threads: the engine's loops split into numbered chunks. Which
// thread takes which chunk is free, so nothing may depend on it. CpuEngine owns one, and all parts
// of a tick run on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace starling {

class ThreadPool {
 public:
  /// `threads` includes the caller of run; at least 1. With `pin`, each other thread keeps a core
  /// of its own, from the second on.
  explicit ThreadPool(unsigned threads, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Has sleeping threads look out for a run that comes soon: waking takes longer than many runs.
  /// From any thread.
  void wake();

  /// Calls task(chunk, thread) for every chunk in [0, chunks), thread in [0, threads()), and waits;
  /// not for threads that are still asleep: whoever is awake takes their chunks.
  /// Each thread starts with its own share of the chunks, the same one every time, so that it finds
  /// in its cache what it wrote in an earlier run; then it helps the others. The first exception
  /// thrown by a task is thrown again here.
  void run(std::size_t chunks, const std::function<void(std::size_t, unsigned)>& task);

  /// Splits [0, count) into even ranges, a few per thread, at least `grain` long: task(begin, end,
  /// thread).
  void for_ranges(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, unsigned)>& task);

 private:
  void end_workers();
  void work(unsigned thread);
  void take_chunks(unsigned thread);
  bool wait_for_round(std::uint64_t seen);

  /// Chunks that one thread starts with. On a cache line of its own.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  std::vector<std::thread> workers_;

  // Of the round under way; written before it opens, while nobody is inside.
  std::vector<Share> shares_;  ///< by thread
  const std::function<void(std::size_t, unsigned)>* task_ = nullptr;
  std::atomic<bool> open_{false};       ///< a thread may begin with it
  std::atomic<std::size_t> inside_{0};  ///< threads that may be at it, the caller's aside

  std::atomic<std::uint64_t> round_{0};
  std::uint64_t wakes_ = 0;  ///< guarded by mutex_
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  ///< guards error_, and sleeping against waking
  std::condition_variable start_;
  std::condition_variable done_;
  std::exception_ptr error_;
};

}  // namespace starling
