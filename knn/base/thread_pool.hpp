// SPDX-License-Identifier: Apache-2.0
// Fork-join over a fixed set of threads: loops are split into numbered chunks. Any thread may take
// any chunk, so no result may depend on which thread takes a chunk. CpuEngine runs all parts of a
// tick on one pool; the CPU searcher and the CPU store of vectors own a pool each.
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

#include "starling/knn/base/poll.hpp"

namespace starling {

/// Returns half the number of cores, at least 1 and at most 8. This is the default number of
/// threads for the tables and for the encoding, which share the cores with an engine.
unsigned half_of_cores();

class ThreadPool {
 public:
  /// `threads` is at least 1 and includes the caller of run. If `pin` is true, each of the other
  /// threads is bound to its own core, from the second core on. Throws std::runtime_error if the
  /// system cannot start all threads.
  explicit ThreadPool(unsigned threads, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Wakes the sleeping threads. Call wake a short time before run, because waking a thread takes
  /// longer than many runs do. Any thread may call wake.
  void wake();

  /// Calls task(chunk, thread) for every chunk in [0, chunks), with thread in [0, threads()), and
  /// waits until all calls have returned. Does not wait for a thread that is still asleep: the
  /// other threads take its chunks.
  ///
  /// Each thread first takes the chunks of its own share, then chunks of other shares. A thread has
  /// the same share in all runs with the same number of chunks, so that the data that it wrote in
  /// an earlier run is in its cache. If tasks throw exceptions, run throws the first of them again.
  void run(std::size_t chunks, const std::function<void(std::size_t, unsigned)>& task);

  /// Splits [0, count) into ranges of about equal length, at most a few per thread, and calls
  /// task(begin, end, thread) for each range. Each range is at least `grain` long, unless `count`
  /// is less than `grain`.
  void for_ranges(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t, unsigned)>& task);

  /// From here on, run and for_ranges call `poll` on the thread that called them: between chunks,
  /// and while they wait for other threads. for_ranges then makes as many ranges as `grain` allows.
  /// If `poll` or a task throws, run calls no further task, waits for the tasks under way and
  /// throws the exception again.
  void set_poll(Poll poll) { poll_ = std::move(poll); }
  bool has_poll() const { return static_cast<bool>(poll_); }
  /// Call this every few milliseconds in a long task, with the thread of the task. It ends the task
  /// by an exception if the poll throws now, or if the poll or a task has thrown before. The owner
  /// of the pool may call it outside of run, with thread 0.
  void poll(unsigned thread) {
    if (poll_) poll_on(thread);
  }
  /// Call this after steps of nanoseconds instead, and only on the thread that calls run.
  void poll_after_tiny_step() { poll_.after_tiny_step(); }

 private:
  void poll_on(unsigned thread);
  /// Stores the current exception, which `run` throws again, and ends the tasks that poll.
  void end_round();
  void wait_for_workers();
  void end_workers();
  void work(unsigned thread);
  void take_chunks(unsigned thread);
  bool wait_for_round(std::uint64_t seen);

  /// The chunks that one thread starts with. Each share has its own cache line.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  std::vector<std::thread> workers_;

  // The round under way. `run` sets shares_ and task_ before it opens the round, while no worker is
  // inside.
  std::vector<Share> shares_;  ///< [thread]
  const std::function<void(std::size_t, unsigned)>* task_ = nullptr;
  std::atomic<bool> open_{false};       ///< workers may begin with the round
  std::atomic<std::size_t> inside_{0};  ///< number of workers that may be in the round

  std::atomic<std::uint64_t> round_{0};
  std::uint64_t wakes_ = 0;  ///< guarded by mutex_
  std::atomic<bool> stop_{false};
  /// Guards error_ and wakes_. Makes sure that a sleeping thread misses no wake-up.
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  std::exception_ptr error_;

  Poll poll_;
  std::atomic<bool> is_ended_{false};  ///< the round under way has an exception
};

}  // namespace starling
