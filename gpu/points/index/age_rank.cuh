// SPDX-License-Identifier: Apache-2.0
// Replaces event times by ranks. Comparing 32-bit ranks takes fewer instructions than comparing
// 64-bit times. passing_kernel.cuh and attached.cu include this file.
#pragma once

#include "starling/gpu/points/index/layers.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::gpu {

/// Returns how many of the age limits an object with this event time keeps.
__device__ inline std::uint32_t rank_of(std::int64_t time_us, const AgeLimits& limits) {
  std::uint32_t low = 0;
  for (std::uint32_t high = limits.count; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (time_us >= oldest_time_us(limits.tau_us, limits.ages_us[middle]))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace starling::gpu
