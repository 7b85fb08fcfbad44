// SPDX-License-Identifier: Apache-2.0
// The terms of the two divergences on the device: see DivergenceTerms in knn/words/recipe.hpp.
// score.cuh adds the terms up. The functions of the terms are not inlined, because each has about
// fifty instructions and a kernel calls it for dozens of pairs of components.
#pragma once

#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// Returns the larger number; NaN if one of them is NaN. It is PTX, because the compiler may turn a
/// comparison and a choice into an instruction that drops NaN.
__device__ __forceinline__ float larger_or_nan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

/// Returns the value of a polynomial at `at`. The coefficient of the lowest power comes first.
template <class... Coefficients>
__device__ __forceinline__ float polynomial(float at, float lowest, Coefficients... others) {
  if constexpr (sizeof...(others) == 0)
    return lowest;
  else
    return __fmaf_rn(polynomial(at, others...), at, lowest);
}

/// Returns ln(r); r is at least 2^-126, or NaN.
__device__ __forceinline__ float logarithm(float r) {
  using Terms = DivergenceTerms;
  const int bits = __float_as_int(r);
  const int power = (bits - __float_as_int(Terms::root)) >> 23;
  const float v = __fsub_rn(__int_as_float(bits - power * (1 << 23)), 1.0f);
  const float q = polynomial(v, Terms::logarithm_0, Terms::logarithm_1, Terms::logarithm_2,
                             Terms::logarithm_3, Terms::logarithm_4, Terms::logarithm_5,
                             Terms::logarithm_6, Terms::logarithm_7, Terms::logarithm_8);
  return __fmaf_rn(static_cast<float>(power), Terms::ln_2, __fmaf_rn(__fmul_rn(v, v), q, v));
}

/// Returns g of DivergenceTerms. If x or y is NaN, g may be any number, because the recipe
/// multiplies g by x + y, which is NaN.
__device__ __noinline__ inline float jensen_shannon_term(float x, float y) {
  using Terms = DivergenceTerms;
  const float u = __fdiv_rn(__fsub_rn(x, y), fmaxf(__fadd_rn(x, y), Terms::least));
  const float w = __fmul_rn(u, u);
  if (w < 0.25f)
    return __fmul_rn(w, polynomial(w, Terms::even_0, Terms::even_1, Terms::even_2, Terms::even_3,
                                   Terms::even_4, Terms::even_5, Terms::even_6));
  const float p = __fadd_rn(1.0f, fabsf(u));
  const float q = __fsub_rn(1.0f, fabsf(u));
  return __fmaf_rn(p, logarithm(p), __fmul_rn(q, logarithm(fmaxf(q, Terms::least))));
}

/// Returns h of DivergenceTerms; NaN if x or y is NaN.
__device__ __noinline__ inline float kullback_leibler_term(float x, float y) {
  using Terms = DivergenceTerms;
  const float t = __fsub_rn(x, y);
  const float a = __fadd_rn(x, y);
  const float u = __fdiv_rn(t, fmaxf(a, Terms::least));
  const float w = __fmul_rn(u, u);
  if (w < 0.25f) {
    const float b = polynomial(w, Terms::odd_0, Terms::odd_1, Terms::odd_2, Terms::odd_3,
                               Terms::odd_4, Terms::odd_5, Terms::odd_6);
    return __fmul_rn(__fmul_rn(a, w), __fmaf_rn(u, b, __fmaf_rn(w, b, 1.0f)));
  }
  const float ratio = __fdiv_rn(fmaxf(x, Terms::least), fmaxf(y, Terms::least));
  return larger_or_nan(__fmaf_rn(x, logarithm(ratio), -t), 0.0f);
}

}  // namespace starling::gpu
