// SPDX-License-Identifier: Apache-2.0
// A grid of only those objects that pass the tag filter of most queries. Example: riders look for
// free drivers. If few drivers are free, each search in the grid of all objects would reject many
// others. CpuEngine builds it in a tick if it saves more time than it costs.
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

  /// Builds the grid for the searches of the plan, if it is worth its cost. Replaces the grid of
  /// the earlier tick.
  void build(const ListPlan& plan, const ObjectSnapshot& objects, GridIndex::Scratch& scratch,
             ThreadPool& pool);

  /// Returns whether grid() has all objects that pass this filter and no others.
  bool serves(const TagFilter& tags) const { return is_built_ && tags == tags_; }
  const GridIndex& grid() const { return grid_; }

  std::uint64_t bytes_used() const { return passing_.bytes_used() + grid_.bytes_used(); }

 private:
  Space space_;
  TagFilter tags_;
  bool is_built_ = false;
  ObjectSnapshot passing_;  ///< has the same slots; objects that do not pass are dead
  GridIndex grid_;
};

}  // namespace starling::cpu
