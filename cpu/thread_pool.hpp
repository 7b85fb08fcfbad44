// Fork-join over a fixed set of threads: the engine's loops split into numbered chunks. Which
// thread takes which chunk is free, so nothing may depend on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace starling::cpu {

class ThreadPool {
 public:
  /// `threads` includes the caller of run; at least 1.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Calls task(chunk, thread) for every chunk in [0, chunks), thread in [0, threads()), and waits.
  /// The first exception thrown by a task is thrown again here.
  void run(std::size_t chunks, const std::function<void(std::size_t, unsigned)>& task);

  /// Splits [0, count) into even ranges, a few per thread, at least `grain` long: task(begin, end,
  /// thread).
  void for_ranges(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, unsigned)>& task);

 private:
  void work(unsigned thread);
  void take_chunks(unsigned thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;
  bool stop_ = false;
  std::atomic<std::size_t> next_chunk_{0};
  std::size_t chunks_ = 0;
  const std::function<void(std::size_t, unsigned)>* task_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace starling::cpu
