// SPDX-License-Identifier: Apache-2.0
// Tests which one-shot queries the CPU engine answers on the caller's thread. The conformance suite
// tests that the answers are right.
#include <array>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::cpu {
namespace {

OneShotQuery nearest(std::uint32_t k) {
  OneShotQuery question;
  question.k = k;
  return question;
}

class AnswerAtOnce : public ::testing::Test {
 protected:
  AnswerAtOnce() {
    const ObjectUpdate row{.id = ObjectId{7}, .time_us = 0, .position = {30, 40, 0}};
    UpdateStatus status{};
    processor_.update(std::span(&row, 1), 0, std::span(&status, 1));
    lock_step_.advance(0);
  }

  bool is_answered(std::span<const OneShotQuery> questions) {
    return processor_.engine().answer_at_once(questions).has_value();
  }

  Processor processor_{ProcessorOptions{}, make_engine({.threads = 1})};
  LockStep lock_step_{processor_};
};

TEST_F(AnswerAtOnce, TakesAFewPlainQuestions) {
  const std::array<OneShotQuery, 2> questions{nearest(1), nearest(64)};
  const auto answers = processor_.engine().answer_at_once(questions);
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->lists.size(), 2u);
  ASSERT_EQ(answers->neighbors.size(), 2u);
  EXPECT_EQ(answers->neighbors[1].object, ObjectId{7});
  EXPECT_EQ(answers->neighbors[1].key, RankKey{2500});
}

TEST_F(AnswerAtOnce, LeavesManyAndLongOnesToItsOwnThread) {
  EXPECT_FALSE(is_answered(std::array<OneShotQuery, 5>{}));
  EXPECT_FALSE(is_answered(std::array{nearest(65)}));
}

TEST_F(AnswerAtOnce, LeavesThoseThatReadObjectsToATurnBetweenTicks) {
  OneShotQuery follows;
  follows.anchor = AnchorKind::follow;
  OneShotQuery by_tags;
  by_tags.filter.tags.required = 1;
  OneShotQuery by_age;
  by_age.filter.age_us_max = 5;
  for (const OneShotQuery& question : {follows, by_tags, by_age})
    EXPECT_FALSE(is_answered(std::span(&question, 1)));
}

}  // namespace
}  // namespace starling::cpu
