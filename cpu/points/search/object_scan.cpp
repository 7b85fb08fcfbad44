// SPDX-License-Identifier: Apache-2.0
// Answers a request by testing every object, in order of slots. If a search in an index has met
// many objects that do not pass the filter, it gives up, and the request is answered here. See
// search.hpp.
#include <algorithm>
#include <cstddef>

#include "starling/cpu/points/search/search.hpp"

namespace starling::cpu {

void scan_objects(const ObjectSnapshot& objects, SearchRequest& request, SearchScratch& scratch) {
  auto& nearest = scratch.candidates;
  nearest.clear();
  const std::size_t kept = request.k;
  const std::size_t held_max = 2 * kept + 64;
  const auto nearer = [](const auto& a, const auto& b) { return a.neighbor < b.neighbor; };
  std::uint64_t bound_sq = request.distance_sq_max;
  const auto positions = objects.positions();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto slot = static_cast<Slot>(i);
    if (!request.tags.passes(objects.tags(slot)) || objects.time_us(slot) < request.time_us_min ||
        positions[i].x == nowhere || slot == request.exclude)
      continue;
    const std::uint64_t gap_sq = distance_sq(positions[i], request.position);
    if (gap_sq > bound_sq) continue;
    nearest.push_back({{RankKey{gap_sq}, objects.id(slot)}, slot});
    if (nearest.size() < held_max) continue;
    const auto last = nearest.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
    std::nth_element(nearest.begin(), last, nearest.end(), nearer);
    bound_sq = to_number(last->neighbor.key);
    nearest.resize(kept);
  }
  std::ranges::sort(nearest, nearer);
  request.found = static_cast<std::uint32_t>(std::min(nearest.size(), kept));
  for (std::uint32_t i = 0; i < request.found; ++i) {
    request.neighbors[i] = nearest[i].neighbor;
    request.slots[i] = nearest[i].place;
  }
}

}  // namespace starling::cpu
