// SPDX-License-Identifier: Apache-2.0
// Tests that OrderedPool runs completions on the loop and in the order of submission, even if work
// that was submitted later finishes first.
#include "starling/stream/pools/ordered_pool.hpp"

#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "starling/stream/pools/asio_executor.hpp"

namespace starling::stream {
namespace {

TEST(OrderedPool, CompletesInTheOrderOfSubmissionWhoeverIsFirst) {
  boost::asio::io_context loop;
  AsioExecutor executor{loop};
  const auto guard = boost::asio::make_work_guard(loop);
  const auto loop_thread = std::this_thread::get_id();
  std::vector<int> completed;
  std::latch second_is_done(1);
  OrderedPool pool(executor, 2);
  const auto completion = [&](int number) {
    return [&, number] {
      EXPECT_EQ(std::this_thread::get_id(), loop_thread);
      completed.push_back(number);
    };
  };
  pool.submit([&]() -> OrderedPool::Completion {
    second_is_done.wait();
    return completion(1);
  });
  pool.submit([&]() -> OrderedPool::Completion {
    second_is_done.count_down();
    return completion(2);
  });
  for (int number = 3; number <= 100; ++number)
    pool.submit([&, number]() -> OrderedPool::Completion { return completion(number); });
  EXPECT_EQ(pool.waiting(), 100u);

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (completed.size() < 100 && loop.run_one_until(deadline) > 0) continue;
  ASSERT_EQ(completed.size(), 100u);
  for (int number = 1; number <= 100; ++number)
    EXPECT_EQ(completed[static_cast<std::size_t>(number) - 1], number);
  EXPECT_EQ(pool.waiting(), 0u);
}

TEST(OrderedPool, WhatNeedsNoWorkerWaitsItsTurn) {
  boost::asio::io_context loop;
  AsioExecutor executor{loop};
  const auto guard = boost::asio::make_work_guard(loop);
  std::vector<int> completed;
  std::latch may_go_on(1);
  OrderedPool pool(executor, 1);
  pool.submit([&]() -> OrderedPool::Completion {
    may_go_on.wait();
    return [&] { completed.push_back(1); };
  });
  pool.submit_done([&] { completed.push_back(2); });
  loop.poll();
  EXPECT_TRUE(completed.empty());
  may_go_on.count_down();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (completed.size() < 2 && loop.run_one_until(deadline) > 0) continue;
  EXPECT_EQ(completed, (std::vector{1, 2}));
}

TEST(OrderedPool, WithNothingBeforeItWhatNeedsNoWorkerCompletesOnTheLoop) {
  boost::asio::io_context loop;
  AsioExecutor executor{loop};
  const auto guard = boost::asio::make_work_guard(loop);
  bool completed = false;
  OrderedPool pool(executor, 1);
  pool.submit_done([&] { completed = true; });
  EXPECT_FALSE(completed);
  loop.poll();
  EXPECT_TRUE(completed);
}

}  // namespace
}  // namespace starling::stream
