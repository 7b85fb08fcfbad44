// SPDX-License-Identifier: Apache-2.0
// Divides a warp into groups of neighbouring lanes. The lanes of a group share one task, such as a
// search. All groups of the warp run the same code, each on its own task.
#pragma once

#include <cstdint>

namespace starling::gpu {

inline constexpr unsigned warp_lanes = 32;
inline constexpr unsigned all_lanes = ~0u;

/// The calling lane's view of its group of `count` lanes; `count` is a power of two. All lanes of
/// the warp must call ballot, ballot_of_all, any, sum and max together. Every lane gets the result
/// for its own group, unless the function says otherwise.
template <unsigned count>
struct LaneGroup {
  unsigned lane = threadIdx.x % count;
  unsigned first = threadIdx.x % warp_lanes - lane;  ///< the group's lane 0, as a lane of the warp

  static constexpr unsigned mask = all_lanes >> (warp_lanes - count);

  /// Returns a number whose bit i is the `value` of the group's lane i.
  __device__ unsigned ballot(bool value) const {
    return __ballot_sync(all_lanes, value) >> first & mask;
  }
  /// Returns the bitwise or of the ballots of all groups of the warp.
  __device__ unsigned ballot_of_all(bool value) const {
    unsigned lanes = __ballot_sync(all_lanes, value);
    for (unsigned step = count; step < warp_lanes; step *= 2) lanes |= lanes >> step;
    return lanes & mask;
  }
  /// Returns those bits of `lanes` that belong to lanes before this lane. `lanes` is a result of
  /// ballot().
  __device__ unsigned before(unsigned lanes) const { return lanes & ((1u << lane) - 1); }
  __device__ bool any(bool value) const { return ballot(value) != 0; }

  __device__ std::uint32_t sum(std::uint32_t value) const {
    for (unsigned step = 1; step < count; step *= 2)
      value += __shfl_xor_sync(all_lanes, value, static_cast<int>(step));
    return value;
  }
  template <class T>
  __device__ T max(T value) const {
    for (unsigned step = 1; step < count; step *= 2) {
      const T other = __shfl_xor_sync(all_lanes, value, static_cast<int>(step));
      value = value < other ? other : value;
    }
    return value;
  }
};

__device__ inline bool any_in_warp(bool value) {
  return __any_sync(all_lanes, value) != 0;
}
__device__ inline std::uint32_t max_in_warp(std::uint32_t value) {
  return __reduce_max_sync(all_lanes, value);
}

}  // namespace starling::gpu
