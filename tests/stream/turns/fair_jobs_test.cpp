// SPDX-License-Identifier: Apache-2.0
// Tests that FairJobs share the engine's time among owners, and the places in the jobs too.
#include "starling/stream/turns/fair_jobs.hpp"

#include <new>
#include <string>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

class FairJobsTest : public testing::Test {
 protected:
  void add(std::uint64_t owner, std::int64_t estimate_us = 10) {
    jobs.add({{.number = owner}, 0},
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
    jobs.ended({{.number = owner}, 0}, now_us);
  }

  void jobs_with_long_ones() {
    std::destroy_at(&jobs);
    std::construct_at(&jobs, FairJobs::Limits{.jobs_max = 8, .long_us = 1000});
  }

  FairJobs jobs{{.jobs_max = 8}};
  std::int64_t now_us = 0;
  std::string begun;
  std::string refused;
};

TEST_F(FairJobsTest, ACheapQuestionWaitsForOneExpensiveQuestionOfAnotherOwner) {
  for (int count = 0; count < 5; ++count) add(1, 5000);
  add(2);
  EXPECT_EQ(begun, "1");
  end(1, 5000);
  EXPECT_EQ(begun, "121") << "what the first owner used counts";
  EXPECT_EQ(jobs.count(), 5u);
}

TEST_F(FairJobsTest, TimeIsSharedAndNotTheNumberOfQuestions) {
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

TEST_F(FairJobsTest, AJobThatFindsNoMemoryIsRefusedAndOthersBegin) {
  jobs.add(
      {{.number = 1}, 0},
      {.begin = []() -> bool { throw std::bad_alloc(); }, .refuse = [this] { refused += "1"; }},
      now_us);
  EXPECT_EQ(refused, "1");
  EXPECT_EQ(jobs.count(), 0u);
  add(2);
  EXPECT_EQ(begun, "2");
}

TEST_F(FairJobsTest, CheapQuestionsRunTogether) {
  for (int count = 0; count < 5; ++count) add(1);
  EXPECT_EQ(begun, "11111");
}

TEST_F(FairJobsTest, AnOwnerThatHasWaitedSavesNothingUp) {
  add(1, 5000);
  for (int count = 0; count < 4; ++count) end((add(1, 5000), 1), 5000);
  for (int count = 0; count < 3; ++count) {
    add(1, 5000);
    add(2, 5000);
  }
  for (const std::uint64_t owner : {1u, 2u, 1u, 2u}) end(owner, 5000);
  EXPECT_EQ(begun.substr(begun.find('2')), "2121") << begun;
}

TEST_F(FairJobsTest, BeyondTheLimitTheOwnerWithTheMostQuestionsIsRefused) {
  for (int count = 0; count < 8; ++count) add(1, 5000);
  add(1, 5000);
  EXPECT_EQ(refused, "1") << "an owner keeps no place from itself";
  add(2, 5000);
  EXPECT_EQ(refused, "11");
  EXPECT_EQ(jobs.count(), 8u);
  end(1, 5000);
  EXPECT_EQ(begun, "12");
}

TEST_F(FairJobsTest, AJobThatEndsWhenItBeginsMakesWay) {
  jobs.add({{.number = 1}, 0},
           {.begin = [] { return false; }, .refuse = [] {}, .estimate_us = 9000}, now_us);
  EXPECT_EQ(jobs.count(), 0u);
  add(2);
  EXPECT_EQ(begun, "2");
}

TEST_F(FairJobsTest, AJobThatHasWaitedForATickIsNotChargedForIt) {
  add(1, 1000);
  for (int count = 0; count < 5; ++count) add(2, 4000);
  end(1, 500'000);  // 10 ms of it count
  add(1, 1000);
  for (int count = 0; count < 3; ++count) end(2, 4000);
  EXPECT_EQ(begun, "12221");
}

TEST_F(FairJobsTest, ShortJobsBeginBesideALongOneOfAnotherPayer) {
  jobs_with_long_ones();
  add(1, 5000);
  add(1);
  add(2);
  add(3, 5000);
  add(2);
  EXPECT_EQ(begun, "122") << "one long job runs at a time, and its payer waits for it";
  end(2, 10);
  end(1, 5000);
  EXPECT_EQ(begun, "12231") << "the other long job, and what waited for the first";
}

TEST_F(FairJobsTest, LongJobsOfOthersTakeNoTimeFromShortOnes) {
  jobs_with_long_ones();
  add(1, 50'000);
  for (int count = 0; count < 3; ++count) {
    now_us += 10'000;
    add(2);
    end(2, 10);
  }
  end(1, 20'000);
  EXPECT_EQ(begun, "1222");
  add(2, 5000);
  add(1, 5000);
  end(2, 5000);
  EXPECT_EQ(begun, "122221") << "the long job of 50 ms was charged in full";
}

TEST_F(FairJobsTest, APayerWhoseWaitingLongJobIsRefusedGoesOn) {
  jobs_with_long_ones();
  add(1, 5000);
  for (int count = 0; count < 7; ++count) add(2, 5000);
  add(3, 5000);
  EXPECT_EQ(refused, "2");
  for (int count = 0; count < 6; ++count) add(static_cast<std::uint64_t>(4 + count), 5000);
  end(1, 5000);
  for (char owner = begun.back(); jobs.count() > 0; owner = begun.back())
    end(static_cast<std::uint64_t>(owner - '0'), 5000);
  EXPECT_EQ(begun.size() + refused.size(), 15u) << begun << " " << refused;
}

TEST_F(FairJobsTest, NoMoreRunTogetherThanAreAllowed) {
  FairJobs one{{.jobs_max = 8, .running_max = 1}};
  std::string order;
  const auto add_to_one = [&](std::uint64_t owner) {
    one.add({{.number = owner}, 0},
            {.begin =
                 [&order, owner] {
                   order += std::to_string(owner);
                   return true;
                 },
             .refuse = [] {}},
            now_us);
  };
  for (int count = 0; count < 3; ++count) add_to_one(1);
  add_to_one(2);
  EXPECT_EQ(order, "1");
  one.ended({{.number = 1}, 0}, now_us += 1000);
  EXPECT_EQ(order, "12");
}

}  // namespace
}  // namespace starling::stream
