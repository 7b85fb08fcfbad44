// SPDX-License-Identifier: Apache-2.0
// Sorts objects in spatial order: scatters them into buckets of neighbouring cells, then sorts each
// bucket in cache. Only TreeIndex uses PlaceSort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/bucket_scatter.hpp"
#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/simd/key_sort.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {

struct PlacedObject {
  LatticePoint position;
  Slot slot = no_slot;
};

class PlaceSort {
 public:
  /// Sorts the points by their cell of `grid`. If a cell has more than `crowd` points, they are
  /// sorted again by the cells of a finer grid over these points. If more than `crowd` points have
  /// the same position, they are sorted by id. Reads ids from `objects`. The result is valid until
  /// the next call.
  std::span<const PlacedObject> sort(const PointSet& points, const ObjectSnapshot& objects,
                                     const CellGrid& grid, std::size_t crowd,
                                     BucketScatter& scatter, ThreadPool& pool);

 private:
  struct Scratch {
    std::vector<std::uint64_t> keys;
    std::vector<hwy::uint128_t> ids;
    std::vector<PlacedObject> sorted;
  };

  void sort_run(std::span<PlacedObject> run, const CellGrid& grid, Scratch& scratch);
  void refine(std::span<PlacedObject> run, Scratch& scratch);
  void sort_by_id(std::span<PlacedObject> run, Scratch& scratch) const;

  const ObjectSnapshot* objects_ = nullptr;
  int dimensions_ = 2;
  std::size_t crowd_ = 0;
  std::vector<PlacedObject> placed_;
  std::vector<Scratch> scratches_;  ///< [thread]
};

}  // namespace starling::cpu
