// The index for what lies flat and not too crowded, which real traffic does: a grid of blocks, each
// with a grid of its own over its objects, two or three to a cell. A row of cells is contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cpu/bucket_scatter.hpp"
#include "cpu/cell_grid.hpp"
#include "cpu/object_snapshot.hpp"
#include "cpu/thread_pool.hpp"
#include "knn/lattice.hpp"

namespace starling::cpu {

/// A cell of the outer grid and the inner grid over its objects' bounding box.
struct GridBlock {
  std::uint32_t first = 0;  ///< place of its first object
  std::uint32_t count = 0;
  std::array<std::int32_t, 2> min{};  ///< along the two axes of the grid
  std::array<std::uint32_t, 2> extent{};
  std::uint32_t cells = 0;    ///< index of its first cell's begin
  std::uint32_t columns = 0;  ///< cells along axis 0
  std::uint32_t shift = 0;    ///< a cell is 2^shift wide
  /// Square of the radius of a circle that should hold one object, by the density hereabouts.
  float radius_sq_per_object = 0;
};

class GridIndex {
 public:
  explicit GridIndex(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// False, and empty, where the objects are not flat (see axes()) or crowd so much that a cell
  /// would have very many: TreeIndex takes those.
  bool build(const ObjectSnapshot& objects, const Box& box, Space space, BucketScatter& scatter,
             ThreadPool& pool);
  void clear();

  std::size_t dimensions() const { return dimensions_; }

  /// Coordinates by place along axis 0, 1 or 2; `padding` more may be read.
  const std::int32_t* coordinates(std::size_t axis) const { return coordinates_[axis].data(); }
  Slot slot(std::size_t place) const { return slots_[place]; }

  /// Which coordinate of a position each axis is: the grid spans axes 0 and 1; axis 2 is the depth,
  /// along which distances are computed but nothing is divided.
  const std::array<std::size_t, 3>& axes() const { return axes_; }
  /// The outer grid: blocks are 2^block_shift wide, `columns` by `rows`, from `origin` on.
  struct Outer {
    std::array<std::int32_t, 2> origin{};
    std::array<std::uint32_t, 2> extent{};
    std::uint32_t shift = 0;
    std::uint32_t columns = 0;
    std::uint32_t rows = 0;
  };
  const Outer& outer() const { return outer_; }
  const std::vector<GridBlock>& blocks() const { return blocks_; }
  const GridBlock& block(std::size_t column, std::size_t row) const {
    return blocks_[row * outer_.columns + column];
  }
  /// Places where the cells of a block begin, row by row, and one past the end.
  const std::uint32_t* cell_begins(const GridBlock& block) const {
    return &cell_begins_[block.cells];
  }

  std::uint64_t bytes_used() const;

  static constexpr std::size_t padding = 16;

 private:
  bool choose_axes(const Box& box, Space space, std::uint64_t objects);
  void lay_outer_grid(const Box& box, std::size_t objects);
  float radius_sq_per_object(const GridBlock& block) const;
  double fill_block(std::span<const PlacedObject> objects, std::uint32_t first, std::size_t index,
                    std::vector<std::uint32_t>& cell_of);

  std::size_t dimensions_;
  std::array<std::size_t, 3> axes_{0, 1, 2};
  double foreshortening_ = 1;  ///< how much closer objects lie on the plane than in space, at most
  Outer outer_;
  std::vector<GridBlock> blocks_;
  std::vector<std::uint32_t> cell_begins_;
  std::array<std::vector<std::int32_t>, 3> coordinates_;
  std::vector<Slot> slots_ = std::vector<Slot>(padding);
};

}  // namespace starling::cpu
