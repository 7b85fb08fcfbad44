// SPDX-License-Identifier: Apache-2.0
// Compares the SIMD code that builds the grid with the scalar definition of a cell.
#include "starling/cpu/points/index/grid_fill.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "starling/cpu/points/index/object_snapshot.hpp"

namespace starling::cpu {
namespace {

constexpr std::int32_t lattice_max = (1 << 30) - 1;

std::vector<LatticePoint> random_points(std::size_t count, std::int32_t extent,
                                        std::mt19937_64& r) {
  std::uniform_int_distribution<std::int32_t> coordinate(-extent, extent);
  std::vector<LatticePoint> points(count);
  for (LatticePoint& point : points) point = {coordinate(r), coordinate(r), coordinate(r)};
  return points;
}

CellRectangle around(const std::vector<LatticePoint>& points, std::int32_t LatticePoint::*a,
                     std::int32_t LatticePoint::*b, std::size_t cells) {
  std::array<std::int32_t, 2> min{lattice_max, lattice_max};
  std::array<std::int32_t, 2> max{-lattice_max, -lattice_max};
  for (const LatticePoint& point : points) {
    min = {std::min(min[0], point.*a), std::min(min[1], point.*b)};
    max = {std::max(max[0], point.*a), std::max(max[1], point.*b)};
  }
  return divide(min, max, cells);
}

TEST(FindCells, FindsTheCellOfEachLivingObjectAndMarksTheDead) {
  constexpr std::uint32_t untouched = ~0u;
  constexpr std::array<std::int32_t LatticePoint::*, 3> axes = {&LatticePoint::x, &LatticePoint::y,
                                                                &LatticePoint::z};
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::size_t count : {1u, 2u, 15u, 16u, 17u, 31u, 33u, 255u, 256u}) {
    for (const std::int32_t extent : {0, 3, 50'000, lattice_max}) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto a = axes[axis];
        const auto b = axes[(axis + 1) % 3];
        std::vector<LatticePoint> points = random_points(count, extent, random);
        const CellRectangle rectangle = around(points, a, b, 1 + random() % 2000);
        for (LatticePoint& point : points)
          if (random() % 8 == 0) point.x = nowhere;
        std::vector<std::uint32_t> expected;
        for (const LatticePoint& point : points)
          expected.push_back(static_cast<std::uint32_t>(
              point.x == nowhere ? rectangle.cells() : rectangle.cell(point.*a, point.*b)));
        std::vector<std::uint32_t> cells(count + 1, untouched);
        find_cells(rectangle, a, points, std::span(cells).first(count));
        EXPECT_EQ(cells.back(), untouched);
        cells.pop_back();
        EXPECT_EQ(cells, expected) << count << " points, extent " << extent << ", axis " << axis;
      }
    }
  }
}

TEST(OrderByCell, KeepsEveryObjectAndPutsItInItsCell) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::size_t dimensions : {2u, 3u}) {
    for (const std::uint32_t count : {1u, 2u, 3u, 15u, 16u, 17u, 33u, 128u, 1000u}) {
      for (const std::int32_t extent : {0, 2, 50'000, lattice_max}) {
        const std::vector<LatticePoint> points = random_points(count, extent, random);
        std::vector<std::int32_t> objects;
        for (std::uint32_t slot = 0; slot < count; ++slot) {
          const LatticePoint& point = points[slot];
          objects.insert(objects.end(), {point.x, point.y});
          if (dimensions == 3) objects.push_back(point.z);
          objects.push_back(static_cast<std::int32_t>(slot));
        }
        const std::uint32_t first = 7;
        const std::size_t cells_max = count / 3 + 1;
        std::vector<std::uint32_t> begins(cells_max + 1);
        CellRectangle grid;
        FillScratch scratch;
        const std::uint64_t shared = order_by_cell({objects.data(), dimensions, first, count},
                                                   cells_max, grid, begins.data(), scratch);

        ASSERT_LE(grid.cells(), cells_max);
        EXPECT_EQ(begins[0], first);
        EXPECT_EQ(begins[grid.cells()], first + count);
        std::vector<bool> seen(count);
        std::uint64_t squares = 0;
        for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
          const std::uint64_t size = begins[cell + 1] - begins[cell];
          squares += size * size;
          for (std::uint32_t place = begins[cell]; place < begins[cell + 1]; ++place) {
            const auto value = [&](std::size_t array) {
              return objects[array * count + place - first];
            };
            const auto slot = static_cast<std::size_t>(value(dimensions));
            ASSERT_LT(slot, count);
            EXPECT_FALSE(seen[slot]);
            seen[slot] = true;
            EXPECT_EQ(value(0), points[slot].x);
            EXPECT_EQ(value(1), points[slot].y);
            if (dimensions == 3) {
              EXPECT_EQ(value(2), points[slot].z);
            }
            EXPECT_EQ(grid.cell(value(0), value(1)), cell);
          }
        }
        EXPECT_EQ(shared, squares);
      }
    }
  }
}

}  // namespace
}  // namespace starling::cpu
