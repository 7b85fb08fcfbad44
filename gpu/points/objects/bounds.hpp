// The smallest box around some objects, on the device.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace starling::gpu {

/// min > max where there are no objects.
struct Bounds {
  std::array<std::int32_t, 3> min;
  std::array<std::int32_t, 3> max;
};

/// By dimension, of no objects.
constexpr std::int32_t min_of_none = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t max_of_none = std::numeric_limits<std::int32_t>::min();
constexpr Bounds no_bounds() {
  return {{min_of_none, min_of_none, min_of_none}, {max_of_none, max_of_none, max_of_none}};
}

}  // namespace starling::gpu
