// SPDX-License-Identifier: Apache-2.0
// Makes the shadow of one row or query: its components in half precision and its norms. The kernels
// of shadow_kernel.cuh and the filter for few queries call these functions.
#pragma once

#include <cuda_fp16.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/corpus/filter_interval.cuh"

namespace starling::gpu {

/// Returns the scale of the shadows: the power of two that brings the largest |x[j] - center[j]|
/// into [2^14, 2^15), but at most 2^shadow_scale_exponent_max.
__device__ __forceinline__ double scale_of(const ShadowFrame& frame) {
  const float reach = __uint_as_float(frame.reach_bits);
  const int exponent = reach > 0 ? 14 - ilogbf(reach) : shadow_scale_exponent_max;
  return scalbn(1.0, min(exponent, shadow_scale_exponent_max));
}

/// The sums of squares from which the norms of a shadow are computed.
struct ShadowSums {
  double norm_sq = 0;
  double error_sq = 0;

  /// Adds one component to the sums and returns its shadow. A value beyond the range of half
  /// precision becomes the nearest number of that range; error() includes the difference.
  __device__ __forceinline__ __half add(float x, float center, double scale) {
    constexpr double half_max = 65504;
    const double value = (static_cast<double>(x) - center) * scale;
    const __half half = __double2half(value > half_max    ? half_max
                                      : value < -half_max ? -half_max
                                                          : value);
    const double shadow = __half2float(half);
    norm_sq += shadow * shadow;
    error_sq += (value - shadow) * (value - shadow);
    return half;
  }
  __device__ __forceinline__ void add(const ShadowSums& other) {
    norm_sq += other.norm_sq;
    error_sq += other.error_sq;
  }
  /// Adds up the sums of all lanes of the warp; every lane gets the result.
  __device__ __forceinline__ void add_lanes() {
    for (int step = warp_lanes / 2; step > 0; step /= 2) {
      norm_sq += __shfl_xor_sync(all_lanes, norm_sq, step);
      error_sq += __shfl_xor_sync(all_lanes, error_sq, step);
    }
  }
  /// The constants below cover roundings. A float64 sum of 4096 terms has a relative error below
  /// 2^-40. A difference has an error below 2^-53 of its terms.
  __device__ __forceinline__ float half_norm() const {
    return __double2float_rd(norm_sq * (0.5 * (1 - 0x1p-40)));
  }
  __device__ __forceinline__ float norm() const {
    return __double2float_ru(sqrt(norm_sq) * (1 + 0x1p-40));
  }
  __device__ __forceinline__ float error() const {
    const double error = sqrt(error_sq) * (1 + 0x1p-40);
    return __double2float_ru(error + 0x1p-48 * (sqrt(norm_sq) + error));
  }
};

/// Writes the halves and the norms of one query's shadow, from components [count][dimension]. A
/// group of `threads` threads shares a query: a warp, or a whole block of block_threads. Group i
/// makes the shadow of query i. Queries from `count` on are padding; their halves and norms are 0.
/// The first thread of a group writes `queries` [query].
template <unsigned threads>
__device__ __forceinline__ void write_query_shadow(const float* components, std::uint32_t count,
                                                   std::uint32_t dimension,
                                                   const ShadowView& corpus, std::uint16_t* halves,
                                                   ShadowQuery* queries) {
  static_assert(threads == warp_lanes || threads == block_threads);
  constexpr unsigned in_flight = 4;
  const auto query = static_cast<std::uint32_t>(thread_index() / threads);
  const unsigned thread = threadIdx.x % threads;
  const double scale = scale_of(*corpus.frame);
  const auto* center = reinterpret_cast<const float*>(corpus.center);
  ShadowSums sums;
  for (std::uint32_t begin = thread; begin < corpus.stride; begin += in_flight * threads) {
    float x[in_flight];
    float c[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t j = begin + i * threads;
      const bool is_in = query < count && j < dimension;
      x[i] = is_in ? components[std::size_t{query} * dimension + j] : 0.0f;
      c[i] = is_in ? center[j] : 0.0f;
    }
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint32_t j = begin + i * threads;
      if (j < corpus.stride)
        halves[shadow_place(corpus.stride, query, j)] =
            __half_as_ushort(sums.add(x[i], c[i], scale));
    }
  }
  sums.add_lanes();
  if constexpr (threads > warp_lanes) {
    __shared__ ShadowSums of_warps[threads / warp_lanes];
    if (thread % warp_lanes == 0) of_warps[thread / warp_lanes] = sums;
    __syncthreads();
    if (thread > 0) return;
    for (unsigned warp = 1; warp < threads / warp_lanes; ++warp) sums.add(of_warps[warp]);
  }
  // A padding query has the reach -infinity, so no row is near it.
  if (thread == 0)
    queries[query] = {sums.half_norm(), sums.error(), sums.norm(),
                      query < count ? CUDART_INF_F : -CUDART_INF_F};
}

}  // namespace starling::gpu
