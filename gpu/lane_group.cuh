// Some neighbouring lanes of a warp that work on one thing.
#pragma once

#include <cstdint>

namespace starling::gpu {

/// A lane's place among the `count` of its group: 8, 16 or 32.
template <unsigned count>
struct LaneGroup {
  unsigned lane = threadIdx.x % count;
  unsigned first = threadIdx.x % 32 - lane;  ///< of the group, in the warp
  unsigned mask = (~0u >> (32 - count)) << first;

  __device__ unsigned ballot(bool value) const { return __ballot_sync(mask, value) >> first; }
  /// Which lanes before this one are in `lanes`, a ballot's answer.
  __device__ unsigned before(unsigned lanes) const { return lanes & ((1u << lane) - 1); }
  __device__ bool any(bool value) const { return __any_sync(mask, value); }
  __device__ void sync() const { __syncwarp(mask); }
  __device__ std::uint32_t sum(std::uint32_t value) const { return __reduce_add_sync(mask, value); }
  template <class T>
  __device__ T max(T value) const {
    for (unsigned step = 1; step < count; step *= 2) {
      const T other = __shfl_xor_sync(mask, value, static_cast<int>(step));
      value = value < other ? other : value;
    }
    return value;
  }
};

}  // namespace starling::gpu
