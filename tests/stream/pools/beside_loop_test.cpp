// SPDX-License-Identifier: Apache-2.0
// Tests that BesideLoop runs its work on another thread, and calls back once on the loop, whether
// the loop waits for it or not.
#include "starling/stream/pools/beside_loop.hpp"

#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "starling/stream/pools/asio_executor.hpp"

namespace starling::stream {
namespace {

class BesideLoopTest : public ::testing::Test {
 protected:
  bool run_until_idle() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (beside.is_busy() && loop.run_one_until(deadline) > 0) continue;
    return !beside.is_busy();
  }

  boost::asio::io_context loop;
  AsioExecutor executor{loop};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{
      loop.get_executor()};
  BesideLoop beside{executor};
  int done = 0;
};

TEST_F(BesideLoopTest, WorksOnAnotherThreadAndCallsBackOnTheLoop) {
  const auto loop_thread = std::this_thread::get_id();
  std::thread::id worker;
  beside.start([&] { worker = std::this_thread::get_id(); },
               [&] {
                 EXPECT_EQ(std::this_thread::get_id(), loop_thread);
                 EXPECT_FALSE(beside.is_busy());
                 ++done;
               });
  EXPECT_TRUE(beside.is_busy());
  EXPECT_EQ(done, 0);
  ASSERT_TRUE(run_until_idle());
  EXPECT_NE(worker, loop_thread);
  EXPECT_EQ(done, 1);
}

TEST_F(BesideLoopTest, SettleWaitsAndCallsBackOnce) {
  std::latch may_return(1);
  std::thread releaser([&] { may_return.count_down(); });
  beside.start([&] { may_return.wait(); }, [&] { ++done; });
  beside.settle();
  EXPECT_EQ(done, 1);
  releaser.join();
  loop.poll();
  EXPECT_EQ(done, 1);
}

TEST_F(BesideLoopTest, SettleWaitsForWhatTheCallbackStarts) {
  std::vector<int> order;
  beside.start([&] { order.push_back(1); },
               [&] { beside.start([&] { order.push_back(2); }, [&] { order.push_back(3); }); });
  beside.settle();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  // The posted callback of the first work must not finish later work.
  std::latch may_return(1);
  beside.start([&] { may_return.wait(); }, [&] { ++done; });
  loop.poll();
  EXPECT_EQ(done, 0);
  may_return.count_down();
  EXPECT_TRUE(run_until_idle());
  EXPECT_EQ(done, 1);
}

TEST_F(BesideLoopTest, ThrowsOnTheLoopWhatTheWorkThrew) {
  beside.start([] { throw std::runtime_error("no memory"); }, [&] { ++done; });
  EXPECT_THROW(beside.settle(), std::runtime_error);
  EXPECT_FALSE(beside.is_busy());
  EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace starling::stream
