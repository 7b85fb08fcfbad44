// SPDX-License-Identifier: Apache-2.0
// Sorts objects in spatial order: scatters them into buckets of neighbouring cells, then sorts each
// bucket in cache. Only TreeIndex uses it.
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
  /// Sorts the points by cell of `grid`. The points of a cell with more than `crowd` of them are
  /// sorted by its own finer grid; points at the same place are sorted by the ids that `objects`
  /// has for their slots. The result is valid until the next call.
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
  std::vector<Scratch> scratches_;  ///< by thread
};

}  // namespace starling::cpu
