// The index for what no grid suits: objects in Morton order, cut into leaves of 16, under a tree of
// bounding boxes 16 wide that has no pointers. docs/decisions/0003-cpu-index.md says why.
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

/// Children a node has, and objects a leaf has: one vector of 16 32-bit lanes.
inline constexpr std::size_t fanout = 16;

/// One cache line of 16 values.
struct alignas(64) Line {
  std::int32_t lane[fanout];
};

/// Bounding boxes of one level. Node i of level 0 covers leaf i, node i of level l covers nodes
/// [16 i, 16 i + 16) of level l - 1.
struct IndexLevel {
  std::size_t count = 0;
  /// Boxes of 16 nodes in a row: for each dimension, a line of minima and a line of maxima.
  std::vector<Line> groups;
  /// Smallest id inside a node whose objects all coincide (else 0): where distances tie, it says
  /// that a node has nothing to add. Empty where no node of the level is such.
  std::vector<ObjectId> min_id;
};

class TreeIndex {
 public:
  explicit TreeIndex(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// There is at least one live object, and `cells` lies over all of them.
  void build(const ObjectSnapshot& objects, const CellGrid& cells, PlaceSort& sort,
             BucketScatter& scatter, ThreadPool& pool);
  void clear();

  std::size_t dimensions() const { return dimensions_; }
  std::size_t count() const { return count_; }
  std::size_t leaf_count() const { return leaf_cells_.size(); }

  /// A leaf's lines: one of coordinates for each dimension, then one of slots. The last leaf may be
  /// filled up with copies of its last object: see count().
  const Line* leaf(std::size_t leaf) const { return &leaves_[leaf * (dimensions_ + 1)]; }
  Slot slot(std::size_t place) const {
    return static_cast<Slot>(leaf(place / fanout)[dimensions_].lane[place % fanout]);
  }
  const std::vector<IndexLevel>& levels() const { return levels_; }

  /// The leaf near which the point lies: where a search starts. `hint` is a leaf not far off.
  std::size_t leaf_near(const LatticePoint& point, std::size_t hint) const;

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
  std::vector<std::uint32_t> leaf_cells_;  ///< cell of each leaf's first object
  std::vector<IndexLevel> levels_;
};

}  // namespace starling::cpu
