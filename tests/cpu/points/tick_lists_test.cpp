// SPDX-License-Identifier: Apache-2.0
// Tests when the memory of lists is kept for the next tick.
#include "starling/cpu/points/tick_lists.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace starling::cpu {
namespace {

std::shared_ptr<ListPlan> plan_with(std::uint64_t room) {
  auto plan = std::make_shared<ListPlan>();
  plan->room = room;
  return plan;
}

TEST(TickLists, TheMemoryOfFewListsAndOfAFewListsLessIsKept) {
  TickLists lists;
  EXPECT_FALSE(lists.lay_out(plan_with(1000)));
  EXPECT_FALSE(lists.lay_out(plan_with(0)));
  EXPECT_GE(lists.neighbors.capacity(), 1000u);
  EXPECT_FALSE(lists.lay_out(plan_with(1'000'000)));
  EXPECT_FALSE(lists.lay_out(plan_with(300'000)));
  EXPECT_GE(lists.neighbors.capacity(), 1'000'000u);
}

TEST(TickLists, TheMemoryOfManyListsThatAreGoneIsFreed) {
  TickLists lists;
  lists.lay_out(plan_with(1'000'000));
  EXPECT_TRUE(lists.lay_out(plan_with(200'000)));
  EXPECT_LT(lists.neighbors.capacity(), 300'000u);
  EXPECT_LT(lists.slots.capacity(), 300'000u);
}

}  // namespace
}  // namespace starling::cpu
