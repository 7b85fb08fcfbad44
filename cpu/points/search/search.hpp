// Exact k-NN over a SpatialIndex: SIMD through Highway, the target chosen at run time. A float32
// test, rounded outwards, only filters; what ranks is exact integer arithmetic.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::cpu {

struct SearchRequest {
  LatticePoint position;
  std::uint32_t k = 1;
  Slot exclude = no_slot;  ///< an object that is never its own neighbour
  TagFilter tags;
  std::uint64_t distance_sq_max = to_number(Filter::any_distance);
  std::int64_t time_us_min = std::numeric_limits<std::int64_t>::min();
  std::uint64_t expected_sq = 0;  ///< about how far the k-th is likely to be; 0: no idea
  Neighbor* neighbors = nullptr;  ///< room for k, nearest first
  Slot* slots = nullptr;          ///< room for k: the same neighbours' slots
  std::uint32_t found = 0;        ///< written: how many there are

  bool filters_objects() const {
    return !tags.is_empty() || time_us_min != std::numeric_limits<std::int64_t>::min();
  }
};

/// Still without a place to ask around and room for the answer.
inline SearchRequest request_for(const Filter& filter, std::uint32_t k, std::int64_t tau_us) {
  SearchRequest request;
  request.k = k;
  request.tags = filter.tags;
  request.distance_sq_max = to_number(filter.key_max);
  request.time_us_min = oldest_time_us(tau_us, filter.age_us_max);
  return request;
}

/// Asks around an object, which is not its own neighbour; there is nothing around a missing one.
inline void ask_around(Slot object, const ObjectSnapshot& objects, SearchRequest& request) {
  request.exclude = object;
  if (objects.is_known_alive(object))
    request.position = objects.position(object);
  else
    request.k = 0;
}

/// Working memory of one thread's searches.
struct SearchScratch {
  struct Candidate {
    Neighbor neighbor;
    std::uint32_t place;
  };
  std::vector<std::uint64_t> distances_sq;
  std::vector<std::uint32_t> places;  ///< in the index
  std::vector<Candidate> candidates;
  double slack = 1;                    ///< how much farther than expected to look; found by trial
  std::vector<float> estimates;        ///< of gathered objects' squared distances
  std::vector<std::int32_t> gathered;  ///< their places
};

/// Answers the requests one after the other; neighbouring requests share cache lines, so ask in
/// order of place. `objects` is read for ids and, by requests that filter objects, tags and times.
void search(const SpatialIndex& index, const ObjectSnapshot& objects,
            std::span<SearchRequest> requests, SearchScratch& scratch);

/// The two that it chooses from.
void search_grid(const GridIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch);
void search_tree(const TreeIndex& index, const ObjectSnapshot& objects,
                 std::span<SearchRequest> requests, SearchScratch& scratch);

}  // namespace starling::cpu
