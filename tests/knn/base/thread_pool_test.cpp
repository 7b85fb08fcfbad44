// SPDX-License-Identifier: Apache-2.0
// Tests that every chunk runs once in every round, that exceptions reach the caller, and that
// ranges cover all elements.
#include "starling/knn/base/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(ThreadPool, RunsEveryChunkOnceInEveryRound) {
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 2000; ++round) {
      const std::size_t chunks = static_cast<std::size_t>(round % 40);
      std::vector<std::atomic<int>> runs(chunks);
      pool.run(chunks, [&](std::size_t chunk, unsigned thread) {
        ASSERT_LT(thread, threads);
        ++runs[chunk];
      });
      for (const std::atomic<int>& count : runs) ASSERT_EQ(count, 1) << "round " << round;
    }
  }
}

TEST(ThreadPool, ThrowsWhatATaskThrewAndRunsTheNextRound) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(pool.run(20,
                          [](std::size_t chunk, unsigned) {
                            if (chunk == 13) throw std::runtime_error("unlucky");
                          }),
                 std::runtime_error);
    std::atomic<int> runs = 0;
    pool.run(20, [&](std::size_t, unsigned) { ++runs; });
    EXPECT_EQ(runs, 20);
  }
}

TEST(ThreadPool, SplitsARangeWithoutGapOrOverlap) {
  ThreadPool pool(2);
  for (const std::size_t count : {0u, 1u, 7u, 512u, 513u, 100'000u}) {
    std::vector<std::atomic<int>> touched(count);
    pool.for_ranges(count, 512, [&](std::size_t begin, std::size_t end, unsigned) {
      for (std::size_t i = begin; i < end; ++i) ++touched[i];
    });
    for (const std::atomic<int>& times : touched) ASSERT_EQ(times, 1);
  }
}

/// Returns a task that runs until the poll throws. Counts in `begun` the tasks that began.
auto endless_task(ThreadPool& pool, std::atomic<int>& begun) {
  return [&](std::size_t, unsigned thread) {
    ++begun;
    for (;;) pool.poll(thread);
  };
}

TEST(ThreadPool, EndsAllTasksWithWhatItsPollThrows) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    const auto caller = std::this_thread::get_id();
    pool.set_poll(Poll([&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      throw std::runtime_error("enough");
    }));
    std::atomic<int> begun = 0;
    EXPECT_THROW(pool.run(1000, endless_task(pool, begun)), std::runtime_error);
    EXPECT_LE(begun, static_cast<int>(threads));
    pool.set_poll({});
    std::atomic<int> runs = 0;
    pool.run(20, [&](std::size_t, unsigned) { ++runs; });
    EXPECT_EQ(runs, 20);
  }
}

TEST(ThreadPool, EndsAllTasksWithWhatATaskThrows) {
  for (const bool is_caller : {true, false}) {
    ThreadPool pool(2);
    pool.set_poll(Poll([] {}));
    std::atomic<int> begun = 0;
    EXPECT_THROW(pool.run(2,
                          [&](std::size_t, unsigned thread) {
                            ++begun;
                            while (begun < 2) pool.poll(thread);
                            if ((thread == 0) == is_caller) throw std::runtime_error("unlucky");
                            for (;;) pool.poll(thread);
                          }),
                 std::runtime_error);
    EXPECT_NO_THROW(pool.poll(0));
  }
}

TEST(Poll, CallsItsFunctionOnceAnIntervalForAllItsCopies) {
  int calls = 0;
  Poll one([&] { ++calls; });
  Poll other = one;
  const auto begin = std::chrono::steady_clock::now();
  while (calls < 3) {
    one();
    other();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3 * Poll::interval);
}

TEST(ThreadPool, PollsWhileItsCallerWaitsForOtherThreads) {
  ThreadPool pool(2);
  std::atomic<bool> is_polled = false;
  pool.set_poll(Poll([&] { is_polled = true; }));
  // The calling thread must poll, whether it runs the task or waits for it.
  pool.run(2, [&](std::size_t, unsigned thread) {
    while (!is_polled) pool.poll(thread);
  });
  EXPECT_TRUE(is_polled);
}

}  // namespace
}  // namespace starling
