// SPDX-License-Identifier: Apache-2.0
// The different filters of all queries. FilterLayers reads them when it chooses layers, and
// DevicePlan stores in each search the number of its filter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// The part of a Filter that does not depend on the distance, with the searches that have it.
struct QueryFilter {
  TagFilter tags;
  std::int64_t age_us_max = Filter::any_age;
  std::uint64_t searches = 0;      ///< without those of every-object queries
  std::uint64_t neighbors = 0;     ///< the sum of k of these searches
  std::uint64_t every_object = 0;  ///< the sum of k of every-object queries
  std::uint32_t least_rank = 0;    ///< the number of age limits up to its own; 0: no age limit

  bool accepts_all() const { return tags.is_empty() && age_us_max == Filter::any_age; }
};

class QueryFilters {
 public:
  /// Takes the filters of all living queries; `queries` is indexed by slot.
  void assign(std::span<const QueryRow> queries);

  /// All different. Empty if every query accepts all objects.
  const std::vector<QueryFilter>& filters() const { return filters_; }
  /// The different age limits, the greatest first.
  const std::vector<std::int64_t>& ages_us() const { return ages_us_; }
  /// By the query's slot: the index into filters(). Empty if filters() is empty.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }

 private:
  void rank_ages();

  std::vector<QueryFilter> filters_;
  std::vector<std::int64_t> ages_us_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace starling::gpu
