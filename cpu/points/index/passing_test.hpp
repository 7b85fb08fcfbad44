// SPDX-License-Identifier: Apache-2.0
// A filter in a form for SIMD: two tests of 32-bit numbers. PassingScan applies this form to all
// objects, and a grid search applies it to the objects of the cells that the search reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "starling/knn/words/filter.hpp"

namespace starling::cpu {

/// An object passes if (tags & care) == required and its rank is at least least_rank. Ranks stand
/// for event times. Each filter with an age limit has an oldest time that it accepts. The rank of a
/// live object is 1 + the number of oldest times that are not later than the event time of the
/// object. The rank of a dead object is 0.
struct PassingTest {
  std::uint32_t care = 0;
  std::uint32_t required = 0;
  std::int32_t least_rank = 1;
};

/// Returns the rank of a live object. `oldest_us` has the oldest times of all filters, ascending,
/// each time once.
inline std::int32_t rank_of(std::int64_t time_us, std::span<const std::int64_t> oldest_us) {
  return static_cast<std::int32_t>(
      1 + (std::ranges::upper_bound(oldest_us, time_us) - oldest_us.begin()));
}

/// Returns the test of a filter. `time_us_min` is one of `oldest_us`, or the lowest value if the
/// filter has no age limit.
inline PassingTest passing_test(const TagFilter& tags, std::int64_t time_us_min,
                                std::span<const std::int64_t> oldest_us) {
  // No object passes if a tag is required and forbidden.
  const bool is_contradictory = (tags.required & tags.forbidden) != 0;
  return {.care = tags.required | tags.forbidden,
          .required = tags.required,
          .least_rank = is_contradictory ? std::numeric_limits<std::int32_t>::max()
                                         : rank_of(time_us_min, oldest_us)};
}

}  // namespace starling::cpu
