// SPDX-License-Identifier: Apache-2.0
// The two steps of a grid's build that read every object, with SIMD. find_cells finds the cell of
// each object in the outer grid. order_by_cell orders the objects of a block by the cells of its
// inner grid. The instruction set is chosen at run time. Only GridIndex calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/cell_rectangle.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

/// Writes the cell of each position to `cells`, which is as long as `positions`. The cell of a dead
/// object is rectangle.cells(). The rectangle divides axis `a` and the next axis (after z comes x).
/// The living objects must be inside the rectangle.
void find_cells(const CellRectangle& rectangle, std::int32_t LatticePoint::*a,
                std::span<const LatticePoint> positions, std::span<std::uint32_t> cells);

/// The objects of one block, one after the other. The values of an object are its coordinates along
/// the axes of the grid, then its slot.
struct BlockObjects {
  std::int32_t* objects;
  std::size_t dimensions;  ///< 2 or 3
  std::uint32_t first;     ///< the place of the first object
  std::uint32_t count;     ///< at least 1
};

/// Working memory of order_by_cell. Each thread has its own, on its own cache lines.
struct alignas(64) FillScratch {
  std::vector<std::int32_t> objects;
  std::vector<std::uint32_t> cells;
};

/// Lays a grid of at most `cells_max` cells over the objects' bounding box and orders the objects
/// by cell, row by row. Writes the objects back to block.objects as arrays, one after another: an
/// array of coordinates for each axis, then an array of slots. Writes to `begins` the place where
/// each cell begins, and the end of the last cell. Returns the sum, over all objects, of the number
/// of objects in the object's cell.
std::uint64_t order_by_cell(const BlockObjects& block, std::size_t cells_max, CellRectangle& grid,
                            std::uint32_t* begins, FillScratch& scratch);

}  // namespace starling::cpu
