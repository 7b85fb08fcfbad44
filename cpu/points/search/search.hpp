// SPDX-License-Identifier: Apache-2.0
// Exact k-NN search in a SpatialIndex, with SIMD through Highway; the instruction set is chosen at
// run time. A float32 test, rounded outwards, only discards candidates that are too far away. The
// ranking is exact integer arithmetic. CpuEngine and FinishedTick call `search`.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <hwy/base.h>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/passing_test.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

struct SearchRequest {
  LatticePoint position;
  std::uint32_t k = 1;
  Slot exclude = no_slot;  ///< an object to leave out of the result
  TagFilter tags;
  std::uint64_t distance_sq_max = to_number(Filter::any_distance);
  std::int64_t time_us_min = std::numeric_limits<std::int64_t>::min();
  /// The filter of `tags` and `time_us_min` as a PassingTest, for an index with attached tags and
  /// ranks. nullptr if there is no filter or no such test.
  const PassingTest* test = nullptr;
  float passing_share = 1;        ///< an estimate: the share of objects that pass the filter
  std::uint64_t expected_sq = 0;  ///< likely squared distance of the k-th neighbour; 0: unknown
  Neighbor* neighbors = nullptr;  ///< output: room for k, nearest first
  Slot* slots = nullptr;          ///< output: room for k, the slots of the same neighbours
  std::uint32_t found = 0;        ///< output: the number of neighbours
  bool gave_up = false;           ///< output: the search gave up, see visits_max

  bool filters_objects() const {
    return !tags.is_empty() || time_us_min != std::numeric_limits<std::int64_t>::min();
  }
};

/// Returns how many objects a search with a filter examines before it gives up. For a search that
/// must examine more objects, scan_objects is faster.
inline std::size_t visits_max(const ObjectSnapshot& objects) {
  constexpr std::size_t visits_min = 1024;
  return visits_min + objects.slot_count() / 8;
}

/// Returns a request without a position and without memory for the result.
inline SearchRequest request_for(const Filter& filter, std::uint32_t k, std::int64_t tau_us) {
  SearchRequest request;
  request.k = k;
  request.tags = filter.tags;
  request.distance_sq_max = to_number(filter.key_max);
  request.time_us_min = oldest_time_us(tau_us, filter.age_us_max);
  return request;
}

/// Sets the position to that of an object, and excludes the object. If the object is missing, the
/// result will be empty.
inline void ask_around(Slot object, const ObjectSnapshot& objects, SearchRequest& request) {
  request.exclude = object;
  if (objects.is_known_alive(object))
    request.position = objects.position(object);
  else
    request.k = 0;
}

/// Working memory for the searches of one thread.
struct SearchScratch {
  struct Candidate {
    Neighbor neighbor;
    std::uint32_t place;  ///< a place of the tree, or a slot if a grid is searched
  };
  std::vector<std::uint64_t> distances_sq;
  std::vector<std::uint32_t> places;  ///< places of the tree, or slots if a grid is searched
  std::vector<Candidate> candidates;
  std::vector<hwy::uint128_t> keys;     ///< squared distances or ids, each with its place
  std::vector<std::uint64_t> selected;  ///< squared distances, for a selection
  double slack = 1;                     ///< scales how far beyond the expected distance to search
  std::vector<float> estimates;         ///< estimated squared distances of the gathered objects
  std::array<std::vector<std::int32_t>, 3> gaps;  ///< [axis]: see Candidates
  std::vector<std::int32_t> slots;                ///< slots of the gathered objects
};

/// Answers the requests in order. Nearby requests share cache lines, so pass them in spatial order.
/// Reads ids from `objects`. If a request filters objects, also reads tags and times.
void search(const SpatialIndex& index, const ObjectSnapshot& objects,
            std::span<SearchRequest> requests, SearchScratch& scratch);

/// search_grid searches a grid, search_tree a tree; `search` calls one of them. If the search of a
/// request gives up, gave_up is true and found is 0.
void search_grid(const GridIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch);
void search_tree(const TreeIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch);
/// Answers a request by testing every object.
void scan_objects(const ObjectSnapshot& objects, SearchRequest& request, SearchScratch& scratch);

}  // namespace starling::cpu
