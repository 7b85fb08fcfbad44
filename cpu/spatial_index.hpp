// The index of one tick: objects in Morton order, cut into leaves of 16, under a tree of bounding
// boxes 16 wide that has no pointers. Rebuilt each tick; docs/decisions/0003-cpu-index.md says why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/object_snapshot.hpp"
#include "cpu/thread_pool.hpp"
#include "knn/types.hpp"

namespace starling::cpu {

/// Children a node has, and objects a leaf has: one vector of 16 32-bit lanes.
inline constexpr std::size_t fanout = 16;

/// Bounding boxes of one level. Node i of level 0 covers objects [16 i, 16 i + 16), node i of level
/// l covers nodes [16 i, 16 i + 16) of level l - 1. Arrays are padded to a multiple of 16.
struct IndexLevel {
  std::array<std::vector<std::int32_t>, 3> min;
  std::array<std::vector<std::int32_t>, 3> max;
  std::size_t count = 0;
  /// Smallest id inside a node whose objects all coincide (else 0): where distances tie, it says
  /// that a node has nothing to add. Empty where no node of the level is such.
  std::vector<ObjectId> min_id;
};

/// Positions to cells of a square grid over the objects' bounding box, numbered in Morton order.
class CellGrid {
 public:
  CellGrid() = default;
  CellGrid(const LatticePoint& min, const LatticePoint& max, int dimensions);
  /// Points outside the box get the cell of the nearest border.
  std::uint32_t cell(const LatticePoint& point) const;
  bool is_one_point() const { return extent_ == 0; }

 private:
  LatticePoint min_;
  std::uint32_t extent_ = 0;
  int shift_ = 0;
  int dimensions_ = 2;
};

class SpatialIndex {
 public:
  explicit SpatialIndex(int dimensions) : dimensions_(dimensions) {}

  /// Working memory that one build after another may share.
  struct Scratch {
    std::vector<std::uint64_t> entries;
    std::vector<std::uint64_t> spare;
  };

  /// If it throws (std::bad_alloc), the index is empty until a build succeeds.
  void build(const ObjectSnapshot& objects, Scratch& scratch, ThreadPool& pool);

  int dimensions() const { return dimensions_; }
  std::size_t count() const { return count_; }
  const std::int32_t* coordinates(int dimension) const {
    return coordinates_[static_cast<std::size_t>(dimension)].data();
  }
  const Slot* slots() const { return slots_.data(); }
  const std::vector<IndexLevel>& levels() const { return levels_; }

  std::uint32_t cell(const LatticePoint& point) const { return grid_.cell(point); }
  /// The leaf in whose neighbourhood `cell` lies: where a search starts to look.
  std::size_t leaf_of_cell(std::uint32_t cell) const;

  std::uint64_t bytes_used() const;

 private:
  void collect(const ObjectSnapshot& objects, Scratch& scratch, ThreadPool& pool);
  void place(const ObjectSnapshot& objects, const Scratch& scratch, ThreadPool& pool);
  void build_level(const IndexLevel* below, std::size_t children, const ObjectSnapshot& objects,
                   ThreadPool& pool);

  int dimensions_;
  std::size_t count_ = 0;
  CellGrid grid_;
  std::array<std::vector<std::int32_t>, 3> coordinates_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> leaf_cells_;  ///< cell of each leaf's first object
  std::vector<IndexLevel> levels_;
};

}  // namespace starling::cpu
