// SPDX-License-Identifier: Apache-2.0
// Tests that a TaskThread runs all tasks in order, whether it sleeps between tasks or stays awake.
#include "starling/knn/base/task_thread.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace starling {
namespace {

using namespace std::chrono_literals;

class TaskThreads : public testing::TestWithParam<std::chrono::microseconds> {};

INSTANTIATE_TEST_SUITE_P(Awake, TaskThreads, testing::Values(0us, 50us, 5'000us));

TEST_P(TaskThreads, RunTasksInTheOrderInWhichTheyCame) {
  std::vector<int> ran;
  TaskThread thread(GetParam());
  for (int i = 0; i < 1000; ++i) {
    thread.post([&ran, i] { ran.push_back(i); });
    if (i % 100 == 0) thread.run<void>([] {});  // the thread is then idle when the next task comes
  }
  EXPECT_EQ(thread.run<std::size_t>([&] { return ran.size(); }), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST_P(TaskThreads, RunATaskThatComesLongAfterTheLast) {
  TaskThread thread(GetParam());
  thread.run<void>([] {});
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(thread.run<int>([] { return 7; }), 7);
}

TEST_P(TaskThreads, PassOnWhatATaskThrows) {
  TaskThread thread(GetParam());
  EXPECT_THROW(thread.run<void>([] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST_P(TaskThreads, RunWhatWasPostedBeforeTheyEnd) {
  int ran = 0;
  {
    TaskThread thread(GetParam());
    for (int i = 0; i < 10; ++i) thread.post([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace starling
