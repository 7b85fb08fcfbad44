#include "cpu/search.hpp"

#include <hwy/targets.h>

namespace starling::cpu {

void search(const SpatialIndex& index, const ObjectSnapshot& objects,
            std::span<SearchRequest> requests, SearchScratch& scratch) {
  if (const GridIndex* grid = index.grid()) {
    search_grid(*grid, objects, requests, scratch);
  } else if (index.tree().count() > 0) {
    search_tree(index.tree(), objects, requests, scratch);
  } else {
    for (SearchRequest& request : requests) request.found = 0;
  }
}

std::string_view simd_target() {
  const std::int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best
}

}  // namespace starling::cpu
