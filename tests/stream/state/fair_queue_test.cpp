// SPDX-License-Identifier: Apache-2.0
// Tests that FairQueue shares the engine's time among owners, and the places in the queue too.
#include "starling/stream/state/fair_queue.hpp"

#include <string>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

class FairQueueTest : public testing::Test {
 protected:
  void add(std::uint64_t owner, std::int64_t estimate_us = 10) {
    queue.add({.number = owner},
              {.begin =
                   [this, owner] {
                     begun += std::to_string(owner);
                     return true;
                   },
               .refuse = [this, owner] { refused += std::to_string(owner); },
               .estimate_us = estimate_us},
              now_us);
  }
  void end(std::uint64_t owner, std::int64_t took_us) {
    now_us += took_us;
    queue.ended({.number = owner}, now_us);
  }

  FairQueue queue{8};
  std::int64_t now_us = 0;
  std::string begun;
  std::string refused;
};

TEST_F(FairQueueTest, ACheapQuestionWaitsForOneExpensiveQuestionOfAnotherOwner) {
  for (int count = 0; count < 5; ++count) add(1, 5000);
  add(2);
  EXPECT_EQ(begun, "1");
  end(1, 5000);
  EXPECT_EQ(begun, "121") << "what the first owner used counts";
  EXPECT_EQ(queue.count(), 5u);
}

TEST_F(FairQueueTest, TimeIsSharedAndNotTheNumberOfQuestions) {
  add(1, 10'000);
  for (int count = 0; count < 3; ++count) {
    add(1, 10'000);
    add(2, 2'000);
  }
  end(1, 10'000);
  end(2, 2000);
  end(2, 2000);
  end(2, 2000);
  EXPECT_EQ(begun, "12221");
}

TEST_F(FairQueueTest, CheapQuestionsRunTogether) {
  for (int count = 0; count < 5; ++count) add(1);
  EXPECT_EQ(begun, "11111");
}

TEST_F(FairQueueTest, AnOwnerThatHasWaitedSavesNothingUp) {
  add(1, 5000);
  for (int count = 0; count < 4; ++count) end((add(1, 5000), 1), 5000);
  for (int count = 0; count < 3; ++count) {
    add(1, 5000);
    add(2, 5000);
  }
  for (const std::uint64_t owner : {1u, 2u, 1u, 2u}) end(owner, 5000);
  EXPECT_EQ(begun.substr(begun.find('2')), "2121") << begun;
}

TEST_F(FairQueueTest, BeyondTheLimitTheOwnerWithTheMostQuestionsIsRefused) {
  for (int count = 0; count < 8; ++count) add(1, 5000);
  add(1, 5000);
  EXPECT_EQ(refused, "1") << "an owner keeps no place from itself";
  add(2, 5000);
  EXPECT_EQ(refused, "11");
  EXPECT_EQ(queue.count(), 8u);
  end(1, 5000);
  EXPECT_EQ(begun, "12");
}

TEST_F(FairQueueTest, AJobThatEndsWhenItBeginsMakesWay) {
  queue.add({.number = 1}, {.begin = [] { return false; }, .refuse = [] {}, .estimate_us = 9000},
            now_us);
  EXPECT_EQ(queue.count(), 0u);
  add(2);
  EXPECT_EQ(begun, "2");
}

}  // namespace
}  // namespace starling::stream
