// SPDX-License-Identifier: Apache-2.0
// A box around some objects, on the device. The builds of both indexes, grid and tree, use it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace starling::gpu {

/// The least and the greatest coordinate of each dimension, both inclusive, in lattice units. If
/// there are no objects, min is greater than max.
struct Bounds {
  std::array<std::int32_t, 3> min;
  std::array<std::int32_t, 3> max;
};

/// The values of `min` and `max` in each dimension if there are no objects.
constexpr std::int32_t min_of_none = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t max_of_none = std::numeric_limits<std::int32_t>::min();
constexpr Bounds no_bounds() {
  return {{min_of_none, min_of_none, min_of_none}, {max_of_none, max_of_none, max_of_none}};
}

}  // namespace starling::gpu
