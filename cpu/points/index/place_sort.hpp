// Puts objects in order of place: a scatter into buckets of neighbouring cells, then a sort of each
// bucket in cache. TreeIndex is its only user.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <hwy/contrib/sort/vqsort.h>

#include "starling/cpu/points/index/bucket_scatter.hpp"
#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {

struct PlacedObject {
  LatticePoint position;
  Slot slot = no_slot;
};

class PlaceSort {
 public:
  /// Sorts the live objects by cell of `grid`. Cells with more than `crowd` objects are ordered
  /// inside as well, by grids of their own; objects at one point go by id. The result is
  /// valid until the next call.
  std::span<const PlacedObject> sort(const ObjectSnapshot& objects, const CellGrid& grid,
                                     std::size_t crowd, BucketScatter& scatter, ThreadPool& pool);

 private:
  struct Scratch {
    std::vector<std::uint64_t> keys;
    std::vector<hwy::uint128_t> ids;
    std::vector<PlacedObject> sorted;
    hwy::Sorter sorter;
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
