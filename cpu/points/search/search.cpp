// SPDX-License-Identifier: Apache-2.0
// Passes requests to grid_search.cpp or tree_search.cpp, depending on the index of the tick.
// Without objects, all results are empty. See search.hpp.
#include "starling/cpu/points/search/search.hpp"

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

}  // namespace starling::cpu
