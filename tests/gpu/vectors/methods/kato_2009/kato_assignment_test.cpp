// SPDX-License-Identifier: Apache-2.0
// Tests how Kato's method assigns the rows of its matrix of grids to devices: by the rule of the
// paper, and so that all devices have equal work.
#include "starling/gpu/vectors/methods/kato_2009/kato_assignment.hpp"

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

TEST(KatoAssignment, GridsAreChosenSoThatDevicesHaveEqualWork) {
  for (std::uint32_t g = 2; g <= 8; ++g)
    for (const std::uint32_t rows : {1u, 100u, 8192u, 8193u, 80'000u, 1'000'000u}) {
      const std::uint32_t grid_rows = kato_grid_rows(rows, 8192, g);
      EXPECT_GE(std::uint64_t{grid_rows} * 8192, rows);
      std::vector<std::uint32_t> grids(g);
      for (std::uint32_t i = 0; i < grid_rows; ++i) grids[kato_device_of(i, g)] += grid_rows - i;
      EXPECT_EQ(std::ranges::min(grids), std::ranges::max(grids))
          << rows << " rows, " << g << " devices";
    }
}

TEST(KatoAssignment, OneDeviceHasTheFewestGrids) {
  EXPECT_EQ(kato_grid_rows(1, 8192, 1), 1u);
  EXPECT_EQ(kato_grid_rows(8192, 8192, 1), 1u);
  EXPECT_EQ(kato_grid_rows(8193, 8192, 1), 2u);
}

}  // namespace
}  // namespace starling::gpu
