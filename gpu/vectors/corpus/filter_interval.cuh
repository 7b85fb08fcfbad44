// SPDX-License-Identifier: Apache-2.0
// Computes bounds on the recipe's score of a row and a query (VectorNeighbor defines the recipe)
// from the product of their shadows, which the tensor cores compute. Upper bounds are rounded up,
// lower bounds down. The filter's kernels call these functions. All scores here are multiplied by
// scale^2 (see ShadowFrame).
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/corpus/filter_limits.hpp"

namespace starling::gpu {

/// Returns an upper bound on the square root of `square`, which is not negative. The instruction's
/// relative error is at most 2^-23 (PTX ISA). A correctly rounded root takes ten times as long.
__device__ __forceinline__ float root_above(float square) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(square));
  return __fmul_ru(root, 1 + 0x1p-22f);
}

/// Returns an upper bound on the norm |h| of a shadow h. `half_norm` is |h|^2 / 2, rounded down.
__device__ __forceinline__ float norm_above(float half_norm) {
  return root_above(__fmul_ru(2 * half_norm, 1 + 0x1p-22f));
}

/// Inner product only. Returns an upper bound on |(-product) - score|, where `product` is the
/// product of the shadows of a row and `query`, and `score` is their score by the recipe. `error`
/// is ShadowNorms::error of the row, and `norm` is the norm of its shadow. The caller may pass
/// upper bounds of `error` and `norm` instead.
__device__ __forceinline__ float dot_error(const FilterLimits& limits, const ShadowQuery& query,
                                           float error, float norm) {
  const float row_length = __fadd_ru(norm, error);
  const float query_length = __fadd_ru(query.norm, query.error);
  const float products = __fmul_ru(limits.product_error, __fmul_ru(norm, query.norm));
  const float halves = __fadd_ru(__fmul_ru(error, query_length), __fmul_ru(norm, query.error));
  const float recipe = __fmul_ru(limits.recipe_error, __fmul_ru(row_length, query_length));
  return __fadd_ru(__fadd_ru(products, halves), __fadd_ru(recipe, limits.underflow));
}

/// Returns the ShadowQuery::reach that belongs to `bound`, the query's bound on scores. L2: the
/// largest distance that a row within the bound can have, plus the query's error. Inner product:
/// the bound itself.
template <bool is_dot>
__device__ __forceinline__ float reach_of(const FilterLimits& limits, float query_error,
                                          float bound) {
  if constexpr (is_dot) return bound;
  const float distance =
      root_above(__fmul_ru(__fadd_ru(bound, limits.underflow), limits.recipe_down));
  return __fadd_ru(distance, query_error);
}

/// Returns a lower bound on `product - half_norm` (L2) or `product` (inner product) for all rows
/// that are within the query's bound and have an error of at most `error` and a norm of at most
/// `norm`. `product` is the product of the shadows of row and query, and `half_norm` is
/// ShadowNorms::half_norm of the row. The kernels compare this bound with the rounded difference.
/// The comparison loses no row, because rounding is monotonic.
template <bool is_dot>
__device__ __forceinline__ float least_product(const FilterLimits& limits, const ShadowQuery& query,
                                               float error, float norm) {
  if constexpr (is_dot) return __fsub_rd(-query.reach, dot_error(limits, query, error, norm));
  const float distance = __fadd_ru(query.reach, error);
  const float products = __fmul_ru(limits.product_error, __fmul_ru(norm, query.norm));
  return __fsub_rd(__fsub_rd(query.half_norm, __fmul_ru(0.5f * distance, distance)), products);
}

/// Returns an upper bound on the recipe's score of the row. `product` is the product of the shadows
/// of the row and the query.
template <bool is_dot>
__device__ __forceinline__ float score_above(const FilterLimits& limits, const ShadowQuery& query,
                                             const ShadowNorms& row, float product) {
  const float norm = norm_above(row.half_norm);
  if constexpr (is_dot) return __fadd_ru(-product, dot_error(limits, query, row.error, norm));
  const float half_norms = __fmul_ru(__fadd_ru(row.half_norm, query.half_norm), 1 + 0x1p-22f);
  const float products = __fmul_ru(limits.product_error, __fmul_ru(norm, query.norm));
  const float half = fmaxf(__fadd_ru(__fsub_ru(half_norms, product), products), 0.0f);
  const float distance = __fadd_ru(root_above(2 * half), __fadd_ru(row.error, query.error));
  return __fadd_ru(__fmul_ru(__fmul_ru(distance, distance), limits.recipe_up), limits.underflow);
}

/// Returns an upper bound on what score_above() returns for any row of the corpus that is within
/// the query's bound. The factor 3 and the terms with 2^-17 and 2^-18 also cover the roundings of
/// score_above().
template <bool is_dot>
__device__ __forceinline__ float largest_score_above(const FilterLimits& limits,
                                                     const ShadowQuery& query,
                                                     const ShadowFrame& frame) {
  const float norm = norm_above(frame.half_norm_max);
  if constexpr (is_dot)
    return __fadd_ru(query.reach, __fmul_ru(3, dot_error(limits, query, frame.error_max, norm)));
  const float reach = __fadd_ru(query.reach, frame.error_max);
  const float products = __fmul_ru(limits.product_error, __fmul_ru(norm, query.norm));
  const float roundings = __fmul_ru(0x1p-17f, __fadd_ru(frame.half_norm_max, query.half_norm));
  const float square =
      __fadd_ru(__fmul_ru(reach, reach), __fadd_ru(__fmul_ru(4, products), roundings));
  const float distance = __fadd_ru(root_above(square), __fadd_ru(frame.error_max, query.error));
  return __fmul_ru(
      __fadd_ru(__fmul_ru(__fmul_ru(distance, distance), limits.recipe_up), limits.underflow),
      1 + 0x1p-18f);
}

}  // namespace starling::gpu
