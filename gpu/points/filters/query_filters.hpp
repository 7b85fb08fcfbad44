// SPDX-License-Identifier: Apache-2.0
// Collects the different filters of all queries. FilterLayers reads them when it chooses layers.
// DevicePlan stores in each search the number of the search's filter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// The tags and the age limit of a Filter, and how much the queries with this filter search for.
struct QueryFilter {
  TagFilter tags;
  std::int64_t age_us_max = Filter::any_age;
  std::uint64_t searches = 0;      ///< number of its queries, without every-object queries
  std::uint64_t neighbors = 0;     ///< sum of k over these queries
  std::uint64_t every_object = 0;  ///< sum of k over its every-object queries
  std::uint32_t least_rank = 0;    ///< 1 + index of age_us_max in ages_us(); 0: no age limit

  bool accepts_all() const { return tags.is_empty() && age_us_max == Filter::any_age; }
};

class QueryFilters {
 public:
  /// Takes the filters of all living queries; `queries` is indexed by slot.
  void assign(std::span<const QueryRow> queries);

  /// Returns the filters, without duplicates. Empty if no query limits tags or ages.
  const std::vector<QueryFilter>& filters() const { return filters_; }
  /// Returns the different age limits of all filters, the greatest first.
  const std::vector<std::int64_t>& ages_us() const { return ages_us_; }
  /// Returns the index into filters() of each query's filter, indexed by the query's slot. Empty if
  /// filters() is empty.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }

 private:
  void rank_ages();

  std::vector<QueryFilter> filters_;
  std::vector<std::int64_t> ages_us_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace starling::gpu
