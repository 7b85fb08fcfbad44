#include "gpu/kato_assignment.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace starling::gpu {
namespace {

TEST(KatoAssignment, FollowsTheRuleOfThePaper) {
  for (std::uint32_t g = 1; g <= 8; ++g)
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::uint32_t j = kato_device_of(i, g);
      ASSERT_LT(j, g);
      EXPECT_TRUE(i % (2 * g) == j || i % (2 * g) == 2 * g - j - 1) << "row " << i << " of " << g;
    }
}

TEST(KatoAssignment, GoesToAndFro) {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < 12; ++i) devices.push_back(kato_device_of(i, 3));
  EXPECT_EQ(devices, (std::vector<std::uint32_t>{0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0}));
}

TEST(KatoAssignment, OneDeviceHasAllRows) {
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(kato_device_of(i, 1), 0u);
}

TEST(KatoAssignment, DevicesHaveEqualWorkWhereRowsFillRounds) {
  for (std::uint32_t g = 1; g <= 8; ++g) {
    const std::uint32_t rows = 6 * g;
    std::vector<std::uint32_t> grids(g);
    for (std::uint32_t i = 0; i < rows; ++i) grids[kato_device_of(i, g)] += rows - i;
    EXPECT_EQ(std::ranges::min(grids), std::ranges::max(grids)) << g << " devices";
  }
}

}  // namespace
}  // namespace starling::gpu
