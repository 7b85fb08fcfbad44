#include "cpu/thread_pool.hpp"

#include <algorithm>
#include <utility>

namespace starling::cpu {
namespace {

constexpr std::size_t ranges_per_thread = 8;  // evens out ranges of unequal work

}  // namespace

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned thread = 1; thread < threads; ++thread)
    workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t chunks, const std::function<void(std::size_t, unsigned)>& task) {
  if (chunks <= 1 || workers_.empty()) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) task(chunk, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    chunks_ = chunks;
    next_chunk_ = 0;
    busy_ = workers_.size();
    ++round_;
  }
  start_.notify_all();
  take_chunks(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::for_ranges(std::size_t count, std::size_t grain,
                            const std::function<void(std::size_t, std::size_t, unsigned)>& task) {
  if (count == 0) return;
  const std::size_t ranges =
      std::clamp<std::size_t>(count / grain, 1, threads() * ranges_per_thread);
  run(ranges, [&](std::size_t range, unsigned thread) {
    task(count * range / ranges, count * (range + 1) / ranges, thread);
  });
}

void ThreadPool::work(unsigned thread) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    take_chunks(thread);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

void ThreadPool::take_chunks(unsigned thread) {
  try {
    for (std::size_t chunk; (chunk = next_chunk_.fetch_add(1)) < chunks_;) (*task_)(chunk, thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace starling::cpu
