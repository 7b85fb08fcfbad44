// SPDX-License-Identifier: Apache-2.0
// Filters decide which objects a query accepts. A filter acts before the limit k: a filtered list
// has exactly the k nearest of the objects that pass. A Filter is part of QueryDefinition and of
// each row that QueryTable stages for an Engine.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/knn/base/times.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct TagFilter {
  std::uint32_t required = 0;   ///< all of these bits must be set
  std::uint32_t forbidden = 0;  ///< none of these bits may be set

  constexpr bool passes(std::uint32_t tags) const {
    return (tags & required) == required && (tags & forbidden) == 0;
  }
  /// Returns true if every object passes.
  constexpr bool is_empty() const { return (required | forbidden) == 0; }
  bool operator==(const TagFilter&) const = default;
};

struct Filter {
  static constexpr std::int64_t any_age = std::numeric_limits<std::int64_t>::max();
  static constexpr RankKey any_distance{std::numeric_limits<std::uint64_t>::max()};

  TagFilter tags;
  /// The largest key that passes. On a lattice: a squared distance in lattice units. In a vector
  /// space: the result of key_within.
  RankKey key_max = any_distance;
  std::int64_t age_us_max = any_age;  ///< the greatest age that passes; age is tau minus event time

  bool operator==(const Filter&) const = default;
};

/// Returns the oldest event time that passes an age limit at `tau_us`. Returns the lowest
/// std::int64_t if there is no age limit, or if the subtraction would overflow.
constexpr std::int64_t oldest_time_us(std::int64_t tau_us, std::int64_t age_us_max) {
  if (age_us_max == Filter::any_age) return std::numeric_limits<std::int64_t>::min();
  return saturating_sub(tau_us, age_us_max);
}

}  // namespace starling
