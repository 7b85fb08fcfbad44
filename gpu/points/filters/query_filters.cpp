// SPDX-License-Identifier: Apache-2.0
// Finds equal filters by sorting the queries' slots: see query_filters.hpp.
#include "starling/gpu/points/filters/query_filters.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace starling::gpu {
namespace {

bool has_filter(const QueryRow& query) {
  return is_alive(query.generation) &&
         !(query.filter.tags.is_empty() && query.filter.age_us_max == Filter::any_age);
}

auto identity_of(const Filter& filter) {
  return std::tuple(filter.tags.required, filter.tags.forbidden, filter.age_us_max);
}

}  // namespace

void QueryFilters::assign(std::span<const QueryRow> queries) {
  filters_.clear();
  ages_us_.clear();
  numbers_.clear();
  if (std::ranges::none_of(queries, has_filter)) return;
  std::vector<Slot> slots;
  for (const QueryRow& query : queries)
    if (is_alive(query.generation)) slots.push_back(query.slot);
  std::ranges::sort(slots, {}, [&](Slot slot) { return identity_of(queries[slot].filter); });
  numbers_.resize(queries.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const QueryRow& query = queries[slots[i]];
    if (i == 0 || identity_of(query.filter) != identity_of(queries[slots[i - 1]].filter))
      filters_.push_back({query.filter.tags, query.filter.age_us_max});
    QueryFilter& filter = filters_.back();
    if (query.anchor == AnchorKind::every_object) {
      filter.every_object += query.k;
    } else {
      ++filter.searches;
      filter.neighbors += query.k;
    }
    numbers_[slots[i]] = static_cast<std::uint32_t>(filters_.size() - 1);
  }
  rank_ages();
}

void QueryFilters::rank_ages() {
  for (const QueryFilter& filter : filters_)
    if (filter.age_us_max != Filter::any_age) ages_us_.push_back(filter.age_us_max);
  std::ranges::sort(ages_us_, std::greater{});
  ages_us_.erase(std::unique(ages_us_.begin(), ages_us_.end()), ages_us_.end());
  for (QueryFilter& filter : filters_) {
    if (filter.age_us_max == Filter::any_age) continue;
    const auto at = std::ranges::lower_bound(ages_us_, filter.age_us_max, std::greater{});
    filter.least_rank = static_cast<std::uint32_t>(at - ages_us_.begin()) + 1;
  }
}

}  // namespace starling::gpu
