// SPDX-License-Identifier: Apache-2.0
// Tests that arrays in lazy memory do not move when they grow, and take memory only where they are
// written.
#include "starling/knn/base/lazy_memory.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace starling {
namespace {

constexpr std::size_t count_max = std::size_t{1} << 30;

class LazyMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_lazy(lazy_memory())) GTEST_SKIP() << "address space is limited";
  }
};

TEST_F(LazyMemoryTest, AnArrayDoesNotMoveWhenItGrows) {
  std::pmr::vector<std::uint64_t> values(lazy_memory());
  reserve_room<2>(values, 1, count_max);
  const std::uint64_t* const place = values.data();
  for (std::uint64_t value = 0; value < 1'000'000; ++value) {
    reserve_room<2>(values, values.size() + 1, count_max);
    values.push_back(value);
  }
  EXPECT_EQ(values.data(), place);
  EXPECT_EQ(values.back(), 999'999u);
}

TEST_F(LazyMemoryTest, APageThatIsNotWrittenTakesNoMemory) {
  constexpr std::size_t page_bytes = 4096;
  std::pmr::vector<char> values(lazy_memory());
  reserve_room<2>(values, 1, count_max);
  values.resize(page_bytes);
  unsigned char is_resident[3] = {};
  ASSERT_EQ(mincore(values.data(), sizeof is_resident * page_bytes, is_resident), 0);
  EXPECT_EQ(is_resident[0] & 1, 1);
  EXPECT_EQ(is_resident[2] & 1, 0);
}

TEST_F(LazyMemoryTest, AnArrayMayOutgrowItsLimit) {
  std::pmr::vector<int> values(lazy_memory());
  for (int value = 0; value < 1000; ++value) {
    reserve_room<2>(values, values.size() + 1, 10);
    values.push_back(value);
  }
  EXPECT_EQ(values.back(), 999);
}

TEST(ReserveRoomTest, AnotherArrayGrowsByAPart) {
  std::pmr::vector<int> values(std::pmr::new_delete_resource());
  reserve_room<2>(values, 100, count_max);
  EXPECT_EQ(values.capacity(), 100u);
  reserve_room<2>(values, 101, count_max);
  EXPECT_EQ(values.capacity(), 150u);
}

}  // namespace
}  // namespace starling
