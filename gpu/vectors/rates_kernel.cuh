// SPDX-License-Identifier: Apache-2.0
// Kernels that measure two rates of a device: how fast it reads memory, and how many steps of the
// recipe's sum it computes in registers. rates_launch.cu launches them.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"

namespace starling::gpu {

/// Reads and sums groups [count]; neighbouring threads read neighbouring groups. Grid of any size.
/// `sink` is written only if a sum is NaN. The memory is all 0, so no sum is NaN, but the compiler
/// cannot know that and keeps the reads.
__global__ void vector_read_rate_kernel(const float4* groups, std::uint64_t count, float* sink) {
  constexpr unsigned loads_under_way = 4;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  float sums[loads_under_way] = {};
  std::uint64_t at = thread_index();
  for (; at + (loads_under_way - 1) * threads < count; at += loads_under_way * threads) {
    float4 loaded[loads_under_way];
#pragma unroll
    for (unsigned i = 0; i < loads_under_way; ++i) loaded[i] = __ldcs(groups + at + i * threads);
#pragma unroll
    for (unsigned i = 0; i < loads_under_way; ++i)
      sums[i] += loaded[i].x + loaded[i].y + loaded[i].z + loaded[i].w;
  }
  float sum = sums[0] + sums[1] + sums[2] + sums[3];
  for (; at < count; at += threads) sum += groups[at].x + groups[at].w;
  if (sum != sum) *sink = sum;
}

/// Each thread computes `rounds` * `chains` steps (see DeviceRates) in registers. Grid of any size.
/// There are `chains` sums. Each step adds to one sum a term made from the next sum, which changes
/// in every round, so the compiler cannot move steps out of the loop. `start` is about 2^-20, so
/// sums stay small and do not become subnormal. `sink` is as in vector_read_rate_kernel.
template <unsigned chains>
__global__ void vector_step_rate_kernel(unsigned rounds, float start, float* sink) {
  float sums[chains];
#pragma unroll
  for (unsigned i = 0; i < chains; ++i)
    sums[i] = start * static_cast<float>(threadIdx.x % 4 + i + 2);
#pragma unroll 8
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < chains; ++i) {
      const float difference = __fsub_rn(sums[(i + 1) % chains], start);
      sums[i] = __fmaf_rn(difference, difference, sums[i]);
    }
  }
  float sum = 0;
#pragma unroll
  for (unsigned i = 0; i < chains; ++i) sum += sums[i];
  if (sum != sum) *sink = sum;
}

}  // namespace starling::gpu
