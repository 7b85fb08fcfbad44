// SPDX-License-Identifier: Apache-2.0
// Finds the leaves of a grid that a rectangle touches, cell by cell. ThreadSearch and WarpSearch
// call these functions.
#pragma once

#include <cstdint>

#include "starling/gpu/points/index/grid_cells.cuh"

namespace starling::gpu {

/// All leaves of a rectangle, including the leaves that its sides touch. x_low and x_high are
/// results of along_x(), y_low and y_high are results of along_y().
struct GridWindow {
  std::uint64_t x_low;
  std::uint64_t x_high;
  std::uint64_t y_low;
  std::uint64_t y_high;

  __device__ std::int32_t columns() const { return cell_of(x_high) - cell_of(x_low) + 1; }
  __device__ std::int32_t rows() const { return cell_of(y_high) - cell_of(y_low) + 1; }
};

/// Returns a window whose low ends lie after its high ends, so that no cell is in it.
__device__ inline GridWindow empty_window() {
  return {std::uint64_t{1} << 32, 0, std::uint64_t{1} << 32, 0};
}

/// How far a window reaches from the position of its search, in lattice units.
struct Reach {
  std::int64_t left;
  std::int64_t right;
  std::int64_t down;
  std::int64_t up;
};

/// Returns the window with the leaves of all objects within `reach` of (x, y) along both axes.
__device__ inline GridWindow window_around(const GridGeometry& grid, std::int32_t x, std::int32_t y,
                                           const Reach& reach) {
  return {along_x(grid, x - reach.left), along_x(grid, x + reach.right),
          along_y(grid, y - reach.down), along_y(grid, y + reach.up)};
}

/// Some consecutive rows or columns of a cell's leaves, including `first` and `last`. Empty if
/// first > last.
struct LeafSpan {
  std::int32_t first;
  std::int32_t last;

  __device__ bool is_empty() const { return first > last; }
  __device__ bool holds(std::int32_t leaf) const { return first <= leaf && leaf <= last; }
};

/// Returns, for one axis, the part of a window that lies in a cell. The window reaches from `low`
/// to `high`. `cell` is the number of the cell's column or row. The cell has `splits` leaves along
/// the axis.
__device__ __forceinline__ LeafSpan span_in_cell(std::uint64_t low, std::uint64_t high,
                                                 std::int32_t cell, std::int32_t splits) {
  if (cell < cell_of(low) || cell > cell_of(high)) return {0, -1};
  return {cell == cell_of(low) ? split_at(fraction_of(low), splits) : 0,
          cell == cell_of(high) ? split_at(fraction_of(high), splits) : splits - 1};
}

/// The places from `begin` up to, but not including, `end`.
struct Run {
  std::uint32_t begin;
  std::uint32_t end;

  __device__ std::uint32_t count() const { return end - begin; }

  /// Returns the part of the run that a search for k neighbours must read. For a crowd, returns the
  /// k + 1 objects with the smallest ids. Otherwise returns the whole run. The run must consist of
  /// whole leaves, and the search must reject at most one object.
  __device__ __forceinline__ Run without_crowd(const GridView& grid, std::uint32_t k) const {
    if (count() <= crowd_min) return *this;
    const int2 first = grid.points[begin];
    const int2 last = grid.points[end - 1];
    return first.x == last.x && first.y == last.y ? Run{begin, begin + k + 1} : *this;
  }
};

/// The objects of a cell that lie in `window` but not in `seen`, which is a smaller window inside
/// `window`. In each row of leaves these objects form two runs; one or both may be empty.
class CellRuns {
 public:
  __device__ __forceinline__ CellRuns(const GridView& grid, const GridGeometry& geometry,
                                      std::int32_t column, std::int32_t row,
                                      const GridWindow& window, const GridWindow& seen) {
    const std::uint32_t cell = cell_number(geometry, column, row);
    const std::uint32_t start = __ldg(&grid.starts[cell]);
    const std::uint32_t count = __ldg(&grid.starts[cell + 1]) - start;
    if (count == 0) return;
    splits_ = splits_of(count);
    offsets_ = grid.offsets + leaves_of(cell, start);
    columns_ = span_in_cell(window.x_low, window.x_high, column, splits_);
    rows_ = span_in_cell(window.y_low, window.y_high, row, splits_);
    seen_columns_ = span_in_cell(seen.x_low, seen.x_high, column, splits_);
    seen_rows_ = span_in_cell(seen.y_low, seen.y_high, row, splits_);
    if (seen_columns_.is_empty()) seen_rows_ = {0, -1};
    // The places of whole rows follow each other, so one run holds all rows.
    const bool is_whole = columns_.first == 0 && columns_.last == splits_ - 1;
    rows_at_once_ = is_whole && seen_rows_.is_empty() ? rows_.last - rows_.first + 1 : 1;
  }

  __device__ bool is_done() const { return rows_.is_empty(); }

  struct Row {
    Run left{0, 0};   ///< left of `seen`, or the whole row
    Run right{0, 0};  ///< right of `seen`
  };
  /// Returns the runs of the next row of leaves. If whole rows are needed, returns all rows as one
  /// run.
  __device__ __forceinline__ Row next() {
    Row runs;
    const std::uint32_t* row = offsets_ + rows_.first * splits_;
    const bool is_split = seen_rows_.holds(rows_.first);
    const std::int32_t end = columns_.last + 1 + (rows_at_once_ - 1) * splits_;
    runs.left = {__ldg(&row[columns_.first]), __ldg(&row[is_split ? seen_columns_.first : end])};
    if (is_split && seen_columns_.last < columns_.last)
      runs.right = {__ldg(&row[seen_columns_.last + 1]), __ldg(&row[end])};
    rows_.first += rows_at_once_;
    return runs;
  }

 private:
  const std::uint32_t* offsets_ = nullptr;
  std::int32_t splits_ = 0;
  LeafSpan columns_{0, -1};
  LeafSpan rows_{0, -1};
  LeafSpan seen_columns_{0, -1};
  LeafSpan seen_rows_{0, -1};
  std::int32_t rows_at_once_ = 1;
};

}  // namespace starling::gpu
