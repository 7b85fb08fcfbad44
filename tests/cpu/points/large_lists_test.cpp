// SPDX-License-Identifier: Apache-2.0
// Tests the time of large lists where objects lie badly for an index. The conformance suite tests
// that the lists are right.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <vector>

#include <gtest/gtest.h>

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/support/random.hpp"

namespace starling::cpu {
namespace {

constexpr std::uint64_t object_count = 40'000;
constexpr std::int32_t line_end = 100'000'000;

/// Objects on a line so long that no grid suits them, so the engine builds a tree.
class LargeLists : public ::testing::Test {
 protected:
  /// Puts objects, of which `crowd` are at one end of the line.
  void put_objects(std::uint64_t crowd) {
    std::vector<ObjectUpdate> rows;
    for (std::uint64_t id = 0; id < object_count; ++id) {
      const auto x = static_cast<std::int32_t>(random_.below(line_end));
      const auto block = static_cast<std::int32_t>(id % 512);
      rows.push_back(
          {.id = ObjectId{id}, .time_us = 0, .position = {x, id % 2 == 0 ? block : 0, 0}});
      if (id < crowd) rows.back().position = {0, 0, 0};
    }
    std::vector<UpdateStatus> statuses(rows.size());
    processor_.update(rows, 0, statuses);
  }

  /// Returns the least time of a batch of questions of `k`, in ms.
  double answer_ms(std::uint32_t k) {
    std::vector<OneShotQuery> questions(20);
    for (OneShotQuery& question : questions) {
      question.k = k;
      question.position = {static_cast<std::int32_t>(random_.below(line_end)), 0, 0};
    }
    double least_ms = 1e9;
    for (int i = 0; i < 10; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      std::promise<std::size_t> lists;
      processor_.engine().search_finished(
          questions, [&](Answers answers) { lists.set_value(answers.lists.size()); });
      EXPECT_EQ(lists.get_future().get(), questions.size());
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      least_ms = std::min(least_ms, took.count());
    }
    return least_ms;
  }

  test::Random random_{1};
  Processor processor_{ProcessorOptions{}, make_engine({.threads = 1})};
  LockStep lock_step_{processor_};
};

// A search that sorts its candidates at each leaf takes 100 times as long.
TEST_F(LargeLists, TakeAboutAsLongWhereOthersAreAtOnePoint) {
  put_objects(0);
  lock_step_.advance(0);
  const double apart_ms = answer_ms(1024);
  put_objects(2000);
  lock_step_.advance(1);
  EXPECT_LT(answer_ms(1024), 30 * apart_ms);
}

}  // namespace
}  // namespace starling::cpu
