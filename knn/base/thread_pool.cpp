// SPDX-License-Identifier: Apache-2.0
// A thread that waits for the next round spins for a while before it sleeps. Each thread takes the
// chunks of its own share first, then chunks of other shares: see thread_pool.hpp.
#include "starling/knn/base/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "starling/knn/base/affinity.hpp"

namespace starling {
namespace {

constexpr std::size_t ranges_per_thread = 8;  // several, because some ranges take longer

// The caller and the workers spin for this time before they sleep. The rounds of a tick are
// microseconds apart, but waking a thread takes tens of microseconds.
constexpr std::chrono::microseconds spin_time{100};

/// Ends a task because another task or the poll has thrown. `run` throws that exception again.
struct RoundEnded {};

/// Hints to an x86 processor that the loop only waits. This saves power and lets the other hardware
/// thread of the core run. Does nothing on other processors.
void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

template <class Condition>
bool spin_until(const Condition& holds) {
  const auto give_up = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (holds()) return true;
      spin_pause();
    }
    std::this_thread::yield();  // lets a thread that has work run, such as the log's
  } while (std::chrono::steady_clock::now() < give_up);
  return false;
}

}  // namespace

unsigned half_of_cores() {
  return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u);
}

ThreadPool::ThreadPool(unsigned threads, bool pin) : shares_(threads) {
  workers_.reserve(threads - 1);
  try {
    for (unsigned thread = 1; thread < threads; ++thread)
      workers_.emplace_back([this, thread, pin] {
        if (pin) pin_this_thread(thread);
        work(thread);
      });
  } catch (const std::system_error& error) {
    const std::size_t started = this->threads();
    end_workers();
    throw std::runtime_error("the system gives this program " + std::to_string(started) + " of " +
                             std::to_string(threads) + " threads (" + error.code().message() +
                             "); ask for fewer threads");
  }
}

ThreadPool::~ThreadPool() {
  end_workers();
}

void ThreadPool::end_workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  start_.notify_all();
}

void ThreadPool::run(std::size_t chunks, const std::function<void(std::size_t, unsigned)>& task) {
  if (chunks <= 1 || workers_.empty()) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      poll(0);
      task(chunk, 0);
    }
    return;
  }
  task_ = &task;
  for (std::size_t thread = 0; thread < shares_.size(); ++thread) {
    shares_[thread].next = chunks * thread / shares_.size();
    shares_[thread].end = chunks * (thread + 1) / shares_.size();
  }
  open_ = true;
  {
    const std::lock_guard lock(mutex_);
    ++round_;
  }
  start_.notify_all();
  take_chunks(0);
  open_ = false;
  wait_for_workers();
  is_ended_ = false;
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::wait_for_workers() {
  const auto all_done = [this] { return inside_ == 0; };
  if (spin_until(all_done)) return;
  std::unique_lock lock(mutex_);
  while (poll_ && !is_ended_ && !done_.wait_for(lock, Poll::interval, all_done)) {
    lock.unlock();
    try {
      poll_();
    } catch (...) {
      end_round();
    }
    lock.lock();
  }
  done_.wait(lock, all_done);
}

void ThreadPool::poll_on(unsigned thread) {
  if (is_ended_) throw RoundEnded();
  if (thread == 0) poll_();
}

void ThreadPool::end_round() {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::current_exception();
  is_ended_ = true;
}

void ThreadPool::for_ranges(std::size_t count, std::size_t grain,
                            const std::function<void(std::size_t, std::size_t, unsigned)>& task) {
  if (count == 0) return;
  const std::size_t ranges_max = has_poll() ? count : threads() * ranges_per_thread;
  const std::size_t ranges = std::clamp<std::size_t>(count / grain, 1, ranges_max);
  run(ranges, [&](std::size_t range, unsigned thread) {
    task(count * range / ranges, count * (range + 1) / ranges, thread);
  });
}

// A thread that wakes late may find its round closed. If a later round is open, the thread works on
// that round.
void ThreadPool::work(unsigned thread) {
  for (std::uint64_t seen = 0; wait_for_round(seen);) {
    seen = round_;
    ++inside_;
    if (open_) take_chunks(thread);
    if (--inside_ > 0) continue;
    const std::lock_guard lock(mutex_);
    done_.notify_one();
  }
}

// Returns false when the pool stops.
bool ThreadPool::wait_for_round(std::uint64_t seen) {
  const auto has_come = [&] { return stop_ || round_ != seen; };
  while (!spin_until(has_come)) {
    std::unique_lock lock(mutex_);
    start_.wait(lock, [&, wakes = wakes_] { return has_come() || wakes_ != wakes; });
  }
  return !stop_;
}

void ThreadPool::take_chunks(unsigned thread) {
  try {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      for (std::size_t chunk; (chunk = share.next.fetch_add(1)) < share.end;) {
        poll(thread);
        (*task_)(chunk, thread);
      }
    }
  } catch (const RoundEnded&) {  // error_ has the exception
  } catch (...) {
    end_round();
  }
}

}  // namespace starling
