// The index for what lies flat and not too crowded, which real traffic does: a grid of blocks, each
// with a grid of its own over its objects, two or three to a cell. A row of cells is contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "starling/cpu/points/index/bucket_scatter.hpp"
#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/cell_rectangle.hpp"
#include "starling/cpu/points/index/grid_fill.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

/// A cell of the outer grid, and the inner grid over its objects' bounding box.
struct GridBlock {
  std::uint32_t first = 0;  ///< place of its first object
  std::uint32_t count = 0;
  CellRectangle grid;
  std::uint32_t cells = 0;  ///< index of its first cell's begin
  /// Square of the radius of a circle that should hold one object, by the density hereabouts.
  float radius_sq_per_object = 0;
};

class GridIndex {
 public:
  using Axis = std::int32_t LatticePoint::*;

  /// Working memory that one index after another may share.
  struct Scratch {
    BucketScatter scatter;
    std::vector<FillScratch> fills;  ///< by thread
  };

  explicit GridIndex(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// False, and empty, where the objects are not flat (see axes()) or crowd so much that a cell
  /// would have very many: TreeIndex takes those.
  bool build(const ObjectSnapshot& objects, const Box& box, Space space, Scratch& scratch,
             ThreadPool& pool);
  void clear();

  std::size_t dimensions() const { return dimensions_; }

  /// The objects by place, each its coordinates along the axes, then its slot. One that is read in
  /// full vectors may be read `padding` objects past the last.
  const std::int32_t* objects() const { return objects_.data(); }
  std::size_t stride() const { return dimensions_ + 1; }
  Slot slot(std::size_t place) const {
    return static_cast<Slot>(objects_[place * stride() + dimensions_]);
  }

  /// Which coordinate of a position each axis is: the grid spans axes 0 and 1; axis 2 is the depth,
  /// along which distances are computed but nothing is divided.
  const std::array<Axis, 3>& axes() const { return axes_; }
  const CellRectangle& outer() const { return outer_; }
  const std::vector<GridBlock>& blocks() const { return blocks_; }
  const GridBlock& block(std::size_t column, std::size_t row) const {
    return blocks_[row * outer_.divisions[0].parts() + column];
  }
  /// Places where the cells of a block begin, row by row, and one past the end.
  const std::uint32_t* cell_begins(const GridBlock& block) const {
    return &cell_begins_[block.cells];
  }

  std::uint64_t bytes_used() const;

  static constexpr std::size_t padding = 16;

 private:
  bool choose_axes(const Box& box, Space space, std::uint64_t objects);
  float radius_sq_per_object(const GridBlock& block) const;
  std::uint64_t fill_block(std::size_t index, std::uint32_t first, std::uint32_t count,
                           FillScratch& scratch);

  std::size_t dimensions_;
  std::array<Axis, 3> axes_{&LatticePoint::x, &LatticePoint::y, &LatticePoint::z};
  double foreshortening_ = 1;  ///< how much closer objects lie on the plane than in space, at most
  CellRectangle outer_;
  std::vector<GridBlock> blocks_;
  std::vector<std::uint32_t> cell_begins_;
  std::vector<std::int32_t> objects_;
};

}  // namespace starling::cpu
