// SPDX-License-Identifier: Apache-2.0
// Exact squared distances in lattice units, computed in integers. All searches use them.
#pragma once

#include <cstdint>

#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {

/// Returns the square of a difference of two lattice coordinates. The difference fits in 32 bits,
/// and the square fits in 64 bits.
__device__ inline std::uint64_t square(std::int32_t difference) {
  const auto magnitude = static_cast<std::uint32_t>(abs(difference));
  return std::uint64_t{magnitude} * magnitude;
}

__device__ inline std::uint64_t distance_sq(const LatticePoint& a, const int2& b) {
  return square(a.x - b.x) + square(a.y - b.y);
}
__device__ inline std::uint64_t distance_sq(const LatticePoint& a, const int4& b) {
  return square(a.x - b.x) + square(a.y - b.y) + square(a.z - b.z);
}

/// Returns the squared distance from `at` to the range from `low` to `high`, along one axis.
__device__ inline std::uint64_t square_outside(std::int32_t at, std::int32_t low,
                                               std::int32_t high) {
  return square(max(max(low - at, at - high), 0));
}

/// Returns the squared distance from `at` to the nearest point of the box.
template <class Box>
__device__ std::uint64_t box_distance_sq(const LatticePoint& at, const Box& box) {
  std::uint64_t sum =
      square_outside(at.x, box.min[0], box.max[0]) + square_outside(at.y, box.min[1], box.max[1]);
  if constexpr (sizeof(box.min) == 3 * sizeof(std::int32_t))
    sum += square_outside(at.z, box.min[2], box.max[2]);
  return sum;
}

}  // namespace starling::gpu
