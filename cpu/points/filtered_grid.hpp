// The objects that pass the tag filter most queries have, in a grid of their own: riders look for
// free drivers, and where few are free, all others would be met and turned away again and again.
// CpuEngine builds it in a tick whose searches it saves more than it costs.
#pragma once

#include <cstdint>

#include "starling/cpu/points/index/grid_index.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/list_plan.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::cpu {

class FilteredGrid {
 public:
  explicit FilteredGrid(Space space) : space_(space), grid_(dimensions(space)) {}

  /// For a tick whose searches are the plan's. Nothing is used that an earlier tick built.
  void build(const ListPlan& plan, const ObjectSnapshot& objects, GridIndex::Scratch& scratch,
             ThreadPool& pool);

  /// Whether searches with this filter find all that passes it in grid().
  bool serves(const TagFilter& tags) const { return is_built_ && tags == tags_; }
  const GridIndex& grid() const { return grid_; }

  std::uint64_t bytes_used() const { return passing_.bytes_used() + grid_.bytes_used(); }

 private:
  Space space_;
  TagFilter tags_;
  bool is_built_ = false;
  ObjectSnapshot passing_;  ///< by the same slots; all others are dead
  GridIndex grid_;
};

}  // namespace starling::cpu
