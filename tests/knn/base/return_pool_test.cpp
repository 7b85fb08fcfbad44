// SPDX-License-Identifier: Apache-2.0
// Tests that a released object returns to the pool with its memory, whichever owner released it. An
// object may also outlive its pool.
#include "starling/knn/base/return_pool.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace starling {
namespace {

using Pool = ReturnPool<std::vector<int>>;

TEST(ReturnPool, GivesAgainWhatItsOnlyOwnerLetGo) {
  Pool pool;
  Pool::Owned first = pool.take_owned();
  first->assign(100, 7);
  const int* const memory = first->data();
  const Pool::Owned other = pool.take_owned();
  EXPECT_NE(other.get(), first.get()) << "an object has one owner";
  Pool::Owned moved = std::move(first);
  std::thread([last = std::move(moved)] {}).join();
  EXPECT_EQ(pool.take_owned()->data(), memory);
}

TEST(ReturnPool, GivesAgainWhatTheLastOfSeveralOwnersLetGo) {
  Pool pool;
  std::shared_ptr<std::vector<int>> one = pool.take();
  std::shared_ptr<std::vector<int>> two = one;
  const std::vector<int>* const thing = one.get();
  one.reset();
  EXPECT_NE(pool.take_owned().get(), thing) << "another owner still has it";
  two.reset();
  EXPECT_EQ(pool.take_owned().get(), thing);
}

TEST(ReturnPool, KeepsNoMoreThanItsMaximum) {
  Pool pool(1);
  Pool::Owned one = pool.take_owned();
  Pool::Owned two = pool.take_owned();
  const std::vector<int>* const first_back = two.get();
  two.reset();
  one.reset();
  const Pool::Owned kept = pool.take_owned();
  EXPECT_EQ(kept.get(), first_back);
}

TEST(ReturnPool, MayGoBeforeWhatItGave) {
  std::optional<Pool> pool(std::in_place);
  const Pool::Owned thing = pool->take_owned();
  thing->assign(100, 7);
  pool.reset();
  EXPECT_EQ(thing->back(), 7);
}

}  // namespace
}  // namespace starling
