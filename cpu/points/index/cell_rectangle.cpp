// SPDX-License-Identifier: Apache-2.0
// Chooses the numbers of columns and rows so that the cells are about square: see
// cell_rectangle.hpp. GridIndex calls divide for the outer grid, and grid_fill.cpp calls it for the
// inner grid of each block.
#include "starling/cpu/points/index/cell_rectangle.hpp"

#include <algorithm>
#include <cmath>

namespace starling::cpu {

CellRectangle divide(const std::array<std::int32_t, 2>& min, const std::array<std::int32_t, 2>& max,
                     std::size_t cells) {
  CellRectangle rectangle;
  rectangle.min = min;
  const std::uint32_t a = CellRectangle::offset(max[0], min[0]);
  const std::uint32_t b = CellRectangle::offset(max[1], min[1]);
  const double side = std::sqrt((a + 1.0) * (b + 1.0) / static_cast<double>(cells));
  const double columns_max = std::min(a + 1.0, static_cast<double>(cells));
  const auto columns =
      static_cast<std::uint32_t>(std::clamp(std::round((a + 1.0) / side), 1.0, columns_max));
  const std::size_t rows_at_most = cells / columns;
  const auto rows =
      static_cast<std::uint32_t>(std::clamp(static_cast<double>(rows_at_most), 1.0, b + 1.0));
  rectangle.divisions = {Division(a, columns), Division(b, rows)};
  return rectangle;
}

}  // namespace starling::cpu
