// What a grid's build does for every object, in SIMD: which cell it is in, and its block's objects
// in order of cell. The target is chosen at run time; GridIndex is the only caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/bucket_scatter.hpp"
#include "starling/cpu/points/index/cell_rectangle.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

/// Finds the cells of positions by their coordinates along the axis `a` and the one after it (x
/// after z), which are inside the rectangle: what BucketScatter asks for.
void find_cells(const CellRectangle& rectangle, std::int32_t LatticePoint::*a,
                std::span<const LatticePoint> positions, const BucketRange& range,
                FoundBuckets& found);

/// The objects of one block, each its coordinates along the axes of the grid, then its slot.
struct BlockObjects {
  std::int32_t* objects;
  std::size_t dimensions;  ///< 2 or 3
  std::uint32_t first;     ///< place of the first of them
  std::uint32_t count;     ///< at least 1
};

/// Working memory of order_by_cell, on cache lines of its own: each thread has one.
struct alignas(64) FillScratch {
  std::vector<std::int32_t> objects;
  std::vector<std::uint32_t> cells;
};

/// Lays a grid of at most `cells_max` cells over the objects' bounding box and puts them in order
/// of its cells, row by row. Writes the place where each cell begins, and one past the end. Returns
/// the sum over objects of how many share their cell.
std::uint64_t order_by_cell(const BlockObjects& block, std::size_t cells_max, CellRectangle& grid,
                            std::uint32_t* begins, FillScratch& scratch);

}  // namespace starling::cpu
