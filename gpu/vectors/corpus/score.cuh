// SPDX-License-Identifier: Apache-2.0
// The recipe, by which the score of two rows is summed component by component (VectorNeighbor in
// knn/words/metric.hpp defines it), and the keys that order candidates.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Adds the components `x` and `y` of two rows to `sum` and returns the new sum. The intrinsics
/// round each operation by itself, whatever the compiler's flags are.
template <bool is_dot>
__device__ __forceinline__ float add_component(float x, float y, float sum) {
  if constexpr (is_dot) return __fmaf_rn(x, y, sum);
  const float t = __fsub_rn(x, y);
  return __fmaf_rn(t, t, sum);
}

template <bool is_dot>
__device__ __forceinline__ float add_group(const float4& x, const float4& y, float sum) {
  sum = add_component<is_dot>(x.x, y.x, sum);
  sum = add_component<is_dot>(x.y, y.y, sum);
  sum = add_component<is_dot>(x.z, y.z, sum);
  return add_component<is_dot>(x.w, y.w, sum);
}

template <bool is_dot>
__device__ __forceinline__ float score_of(float sum) {
  return is_dot ? __fsub_rn(0.0f, sum) : sum;
}

/// Returns the ordered score: an unsigned number with the same order as `score`. `score` is never
/// NaN or -0.
__device__ __forceinline__ std::uint32_t ordered_of(float score) {
  const std::uint32_t bits = __float_as_uint(score);
  return bits ^ ((bits >> 31) != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
__device__ __forceinline__ float score_of_ordered(std::uint32_t ordered) {
  return __uint_as_float(ordered ^
                         ((ordered >> 31) != 0 ? std::uint32_t{1} << 31 : ~std::uint32_t{0}));
}
inline constexpr std::uint32_t ordered_infinity = 0xff800000u;

/// Returns the key of a candidate: one number. Keys are ordered by score and then by row, as
/// answers are.
__device__ __forceinline__ std::uint64_t key_of_ordered(std::uint32_t ordered, std::uint32_t row) {
  return std::uint64_t{ordered} << 32 | row;
}
__device__ __forceinline__ std::uint64_t key_of(float score, std::uint32_t row) {
  return key_of_ordered(ordered_of(score), row);
}

}  // namespace starling::gpu
