// SPDX-License-Identifier: Apache-2.0
// Passes requests to grid_search.cpp or tree_search.cpp, depending on the kind of index. If the
// search of a request gives up, object_scan.cpp answers the request. Without objects, all results
// are empty. See search.hpp.
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
    return;
  }
  for (SearchRequest& request : requests)
    if (request.gave_up) scan_objects(objects, request, scratch);
}

}  // namespace starling::cpu
