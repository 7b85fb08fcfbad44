// SPDX-License-Identifier: Apache-2.0
// Finds the cell and the leaf of a position in a grid. The kernels that build a grid and the
// searches both call these functions, so that both compute the same cell and leaf. The greater of
// two coordinates never gets the lower cell or leaf. Otherwise searches would not be exact.
#pragma once

#include <cstdint>

#include "starling/gpu/points/index/grid_view.hpp"

namespace starling::gpu {

/// Returns where the coordinate `at` lies along one axis of the grid. The upper 32 bits are the
/// number of its column or row of cells. The lower 32 bits are its distance from the beginning of
/// the cell, as a fraction of the cell's side. A coordinate outside the grid is first moved to the
/// grid's border.
__device__ inline std::uint64_t along(std::int32_t at, std::int32_t min, std::uint32_t extent,
                                      std::uint32_t cells_per_unit) {
  const auto distance = static_cast<std::uint32_t>(at) - static_cast<std::uint32_t>(min);
  const std::uint32_t inside = at < min ? 0 : ::min(distance, extent);
  return std::uint64_t{inside} * cells_per_unit;
}
__device__ inline std::uint64_t along(std::int64_t at, std::int32_t min, std::uint32_t extent,
                                      std::uint32_t cells_per_unit) {
  const std::int64_t distance = at - min;
  const std::uint32_t inside =
      distance < 0 ? 0 : static_cast<std::uint32_t>(::min(distance, std::int64_t{extent}));
  return std::uint64_t{inside} * cells_per_unit;
}
template <class Coordinate>
__device__ std::uint64_t along_x(const GridGeometry& grid, Coordinate x) {
  return along(x, grid.min_x, grid.extent_x, grid.cells_per_unit);
}
template <class Coordinate>
__device__ std::uint64_t along_y(const GridGeometry& grid, Coordinate y) {
  return along(y, grid.min_y, grid.extent_y, grid.cells_per_unit);
}

__device__ inline std::int32_t cell_of(std::uint64_t along) {
  return static_cast<std::int32_t>(along >> 32);
}
__device__ inline std::uint32_t fraction_of(std::uint64_t along) {
  return static_cast<std::uint32_t>(along);
}

/// Returns the cell's number among the cells of all layers.
__device__ inline std::uint32_t cell_number(const GridGeometry& grid, std::int32_t column,
                                            std::int32_t row) {
  return grid.first_cell + static_cast<std::uint32_t>(row * grid.columns + column);
}
__device__ inline std::uint32_t cell_at(const GridGeometry& grid, std::int32_t x, std::int32_t y) {
  return cell_number(grid, cell_of(along_x(grid, x)), cell_of(along_y(grid, y)));
}

/// Returns the number of leaves along each axis of a cell with `objects` objects.
__device__ inline std::int32_t splits_of(std::uint32_t objects) {
  constexpr float leaves_per_object = 1.0f / GridTuning::leaf_objects;
  const auto splits =
      static_cast<std::int32_t>(__fsqrt_rn(static_cast<float>(objects) * leaves_per_object) + 0.5f);
  return min(max(splits, 1), GridTuning::splits_max);
}
/// Returns the column, or the row, of leaves in which a point lies. `fraction` is the point's
/// distance from the beginning of the cell, in units of 2^-32 of the cell's side. The cell has
/// `splits` columns and `splits` rows of leaves.
__device__ inline std::int32_t split_at(std::uint32_t fraction, std::int32_t splits) {
  return static_cast<std::int32_t>(__umulhi(fraction, static_cast<std::uint32_t>(splits)));
}

/// Returns a number of offsets that is enough for `cells` cells with `objects` objects in total. A
/// cell with x * leaf_objects objects has at most (sqrt(x) + 1/2)^2 leaves. A cell needs one offset
/// more than it has leaves, so it needs less than 5/4 x + 3 offsets.
__host__ __device__ constexpr std::uint32_t offsets_before(std::uint32_t objects,
                                                           std::uint32_t cells) {
  constexpr std::uint64_t per_object = (std::uint64_t{5} << 32) / 4 / GridTuning::leaf_objects;
  return static_cast<std::uint32_t>(objects * per_object >> 32) + 4 * cells;
}
/// Returns the index into GridView::offsets of a cell's first leaf. `start` is the cell's first
/// place.
__device__ inline std::uint32_t leaves_of(std::uint32_t cell, std::uint32_t start) {
  return offsets_before(start, cell);
}

}  // namespace starling::gpu
