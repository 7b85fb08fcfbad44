// SPDX-License-Identifier: Apache-2.0
// An index of points, built again in each tick: a grid if a grid suits the points, else a tree.
// FinishedTick owns two indexes of all objects. FilteredIndexes owns one index for each chosen
// filter.
#pragma once

#include <cstdint>
#include <span>

#include "starling/cpu/points/index/grid_index.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/place_sort.hpp"
#include "starling/cpu/points/index/tree_index.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

class SpatialIndex {
 public:
  explicit SpatialIndex(Space space)
      : space_(space), grid_(dimensions(space)), tree_(dimensions(space)) {}

  /// Working memory. Indexes that are built one after another may share it.
  struct Scratch {
    GridIndex::Scratch grid;
    PlaceSort sort;
  };

  /// Builds the index of `points`. Reads ids from `objects`. If build throws (std::bad_alloc), the
  /// index is unusable until a build succeeds.
  void build(const PointSet& points, const ObjectSnapshot& objects, Scratch& scratch,
             ThreadPool& pool) {
    is_grid_ = false;
    if (points.count == 0) return tree_.clear();
    cells_ = CellGrid(points.box, dimensions(space_));
    if (--builds_until_grid_ <= 0) {
      is_grid_ = grid_.build(points, space_, scratch.grid, pool);
      builds_until_grid_ = is_grid_ ? 0 : grid_rest_builds;
    }
    if (is_grid_)
      tree_.clear();
    else
      tree_.build(points, objects, cells_, scratch.sort, scratch.grid.scatter, pool);
  }

  /// Copies into the grid the data that searches with a PassingTest read. The copy is valid until
  /// the next build. Does nothing if the points are in the tree.
  void attach(const ObjectSnapshot& objects, std::span<const std::int64_t> oldest_us,
              ThreadPool& pool) {
    if (is_grid_) grid_.attach(objects, oldest_us, pool);
  }

  /// Returns the grid, or nullptr if the points are in the tree.
  const GridIndex* grid() const { return is_grid_ ? &grid_ : nullptr; }
  const TreeIndex& tree() const { return tree_; }

  /// Returns the Morton number of the point's cell. Searches that are sorted by this number are in
  /// spatial order.
  std::uint32_t cell(const LatticePoint& point) const { return cells_.cell(point); }

  std::uint64_t bytes_used() const { return grid_.bytes_used() + tree_.bytes_used(); }

 private:
  // Points that do not suit the grid seldom suit it one tick later, so the grid is tried again only
  // after this number of builds.
  static constexpr int grid_rest_builds = 16;

  Space space_;
  CellGrid cells_;
  bool is_grid_ = false;
  int builds_until_grid_ = 0;
  GridIndex grid_;
  TreeIndex tree_;
};

}  // namespace starling::cpu
