// SPDX-License-Identifier: Apache-2.0
// Sums the score of two rows component by component, as the recipe says (knn/words/recipe.hpp), and
// makes the keys that order candidates.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/divergences.cuh"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// Adds component `x` of the query and component `y` of the row to `sum` and returns the new sum.
/// The intrinsics round each operation by itself, whatever the compiler's flags are. If all
/// components of a row are NaN, its sum is NaN in every recipe.
template <Recipe recipe>
__device__ __forceinline__ float add_component(float x, float y, float sum) {
  if constexpr (recipe == Recipe::product) {
    return __fmaf_rn(x, y, sum);
  } else if constexpr (recipe == Recipe::jensen_shannon) {
    return __fmaf_rn(__fadd_rn(x, y), jensen_shannon_term(x, y), sum);
  } else if constexpr (recipe == Recipe::kullback_leibler) {
    return __fadd_rn(sum, kullback_leibler_term(x, y));
  } else {
    const float t = __fsub_rn(x, y);
    if constexpr (recipe == Recipe::absolute_differences) return __fadd_rn(sum, fabsf(t));
    if constexpr (recipe == Recipe::largest_difference) return larger_or_nan(sum, fabsf(t));
    return __fmaf_rn(t, t, sum);
  }
}

template <Recipe recipe>
__device__ __forceinline__ float add_group(const float4& x, const float4& y, float sum) {
  sum = add_component<recipe>(x.x, y.x, sum);
  sum = add_component<recipe>(x.y, y.y, sum);
  sum = add_component<recipe>(x.z, y.z, sum);
  return add_component<recipe>(x.w, y.w, sum);
}

template <Recipe recipe>
__device__ __forceinline__ float score_of(float sum) {
  return recipe == Recipe::product ? __fsub_rn(0.0f, sum) : sum;
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
