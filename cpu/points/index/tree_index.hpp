// SPDX-License-Identifier: Apache-2.0
// The index for objects that do not suit the grid: objects in Morton order, divided into leaves of
// 16, under a tree of bounding boxes with 16 children per node and no pointers.
// docs/decisions/0003-cpu-index.md explains why. SpatialIndex owns a TreeIndex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/place_sort.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

/// The number of children of a node and of objects in a leaf: one vector of 16 lanes of 32 bits.
inline constexpr std::size_t fanout = 16;

/// One cache line of 16 values.
struct alignas(64) Line {
  std::int32_t lane[fanout];
};

/// The bounding boxes of one level. Node i of level 0 covers leaf i. Node i of level l covers nodes
/// [16 i, 16 i + 16) of level l - 1.
struct IndexLevel {
  std::size_t count = 0;
  /// The boxes of 16 consecutive nodes: for each dimension a line of minima and a line of maxima.
  std::vector<Line> groups;
  /// For each node whose objects are all at one point: the smallest id of these objects. For other
  /// nodes: 0. At equal distances the id shows that a node cannot improve a list. Empty if no node
  /// of the level has all its objects at one point.
  std::vector<ObjectId> min_id;
};

class TreeIndex {
 public:
  explicit TreeIndex(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// There must be at least one point, and `cells` must cover all of them. Reads ids from
  /// `objects`.
  void build(const PointSet& points, const ObjectSnapshot& objects, const CellGrid& cells,
             PlaceSort& sort, BucketScatter& scatter, ThreadPool& pool);
  void clear();

  std::size_t dimensions() const { return dimensions_; }
  std::size_t count() const { return count_; }
  std::size_t leaf_count() const { return leaf_cells_.size(); }

  /// Returns the lines of a leaf: one line of coordinates for each dimension, then one line of
  /// slots. The last leaf may end with copies of its last object; count() does not count them.
  const Line* leaf(std::size_t leaf) const { return &leaves_[leaf * (dimensions_ + 1)]; }
  Slot slot(std::size_t place) const {
    return static_cast<Slot>(leaf(place / fanout)[dimensions_].lane[place % fanout]);
  }
  const std::vector<IndexLevel>& levels() const { return levels_; }

  /// Returns the leaf at which a search for this point starts. `hint` is a leaf that may be near.
  std::size_t leaf_near(const LatticePoint& point, std::size_t hint) const;
  /// Returns true if the leaf's cell has further leaves. leaf_near knows the cells alone, so among
  /// these leaves others may be much nearer to a point.
  bool is_crowded(std::size_t leaf) const {
    return leaf + 1 < leaf_cells_.size() && leaf_cells_[leaf] == leaf_cells_[leaf + 1];
  }

  std::uint64_t bytes_used() const;

 private:
  void place(std::span<const PlacedObject> placed, ThreadPool& pool);
  IndexLevel make_level(const IndexLevel* below, std::size_t nodes, const ObjectSnapshot& objects,
                        ThreadPool& pool) const;
  void fill_up(IndexLevel& level) const;
  std::vector<ObjectId> coincident_ids(const IndexLevel& level, const IndexLevel* below,
                                       std::size_t nodes, const ObjectSnapshot& objects) const;

  std::size_t dimensions_;
  std::size_t count_ = 0;
  CellGrid cells_;
  std::vector<Line> leaves_;
  std::vector<std::uint32_t> leaf_cells_;  ///< the cell of each leaf's first object
  std::vector<IndexLevel> levels_;
};

}  // namespace starling::cpu
