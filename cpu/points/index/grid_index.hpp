// SPDX-License-Identifier: Apache-2.0
// The index for objects that lie flat (close to a plane) and are not too crowded, as in real
// traffic. It is a grid of blocks. Each block has an inner grid over its objects, with about four
// objects in a cell. The objects of a row of cells are contiguous. SpatialIndex owns a GridIndex.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/bucket_scatter.hpp"
#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/cell_rectangle.hpp"
#include "starling/cpu/points/index/grid_fill.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/point_set.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

/// A cell of the outer grid, with an inner grid over the bounding box of its objects.
struct GridBlock {
  std::uint32_t first = 0;  ///< the place of its first object
  std::uint32_t count = 0;
  CellRectangle grid;
  std::uint32_t cells = 0;  ///< the index of its first cell in cell_begins_
  /// The squared radius of a circle that holds one object on average, by the local density.
  float radius_sq_per_object = 0;
};

class GridIndex {
 public:
  using Axis = std::int32_t LatticePoint::*;

  /// Working memory. Indexes that are built one after another may share it.
  struct Scratch {
    BucketScatter scatter;
    std::vector<FillScratch> fills;  ///< [thread]
  };

  explicit GridIndex(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// Builds the grid. Returns false, and leaves the grid empty, if the points do not lie flat or
  /// are so crowded that cells would hold very many of them. TreeIndex serves both cases.
  bool build(const PointSet& points, Space space, Scratch& scratch, ThreadPool& pool);
  void clear();

  /// Copies the tags and the ranks of the objects into arrays that are indexed by place. A search
  /// with a PassingTest reads these arrays. They are valid until the next build.
  void attach(const ObjectSnapshot& objects, std::span<const std::int64_t> oldest_us,
              ThreadPool& pool);
  bool has_attached() const { return has_attached_; }
  const std::uint32_t* tags() const { return tags_.data(); }
  const std::int32_t* ranks() const { return ranks_.data(); }

  std::size_t count() const { return count_; }
  std::size_t dimensions() const { return dimensions_; }

  /// Returns the arrays of a block: the coordinates of its objects by place along axis 0, then
  /// along the other axes, then the slots. Each array has block.count values. SIMD code may read
  /// `padding` values past the end of each array.
  const std::int32_t* arrays(const GridBlock& block) const {
    return objects_.data() + block.first * stride();
  }

  /// Returns, for each axis of the grid, the member of LatticePoint with its coordinate. The grid
  /// divides axes 0 and 1. Axis 2 is the depth: distances include it, but the grid does not divide
  /// it.
  const std::array<Axis, 3>& axes() const { return axes_; }
  const CellRectangle& outer() const { return outer_; }
  const std::vector<GridBlock>& blocks() const { return blocks_; }
  const GridBlock& block(std::size_t column, std::size_t row) const {
    return blocks_[row * outer_.divisions[0].parts() + column];
  }
  /// Returns the places where the cells of a block begin, row by row, and the end of the last cell.
  const std::uint32_t* cell_begins(const GridBlock& block) const {
    return &cell_begins_[block.cells];
  }

  std::uint64_t bytes_used() const;

  static constexpr std::size_t padding = 16;
  /// A grid with at most this number of objects has one block with one cell.
  static constexpr std::size_t few_objects = 64;

 private:
  std::size_t stride() const { return dimensions_ + 1; }
  void build_small(const PointSet& points);
  bool choose_axes(const Box& box, Space space, std::uint64_t objects);
  float radius_sq_per_object(const GridBlock& block) const;
  std::uint64_t fill_block(std::size_t index, std::uint32_t first, std::uint32_t count,
                           FillScratch& scratch);

  std::size_t dimensions_;
  std::size_t count_ = 0;
  std::array<Axis, 3> axes_{&LatticePoint::x, &LatticePoint::y, &LatticePoint::z};
  double foreshortening_ = 1;  ///< largest ratio of an area in space to its projection on the plane
  CellRectangle outer_;
  std::vector<GridBlock> blocks_;
  std::vector<std::uint32_t> cell_begins_;
  std::vector<std::int32_t> objects_;
  bool has_attached_ = false;
  std::vector<std::uint32_t> tags_;  ///< [place], as is ranks_
  std::vector<std::int32_t> ranks_;
};

}  // namespace starling::cpu
