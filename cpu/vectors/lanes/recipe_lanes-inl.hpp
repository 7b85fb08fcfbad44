// SPDX-License-Identifier: Apache-2.0
// The steps of all recipes (knn/words/recipe.hpp) on SIMD lanes: each lane has one row. scan.cpp
// includes this file once per instruction set.
#if defined(STARLING_CPU_RECIPE_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STARLING_CPU_RECIPE_LANES_INL_HPP
#undef STARLING_CPU_RECIPE_LANES_INL_HPP
#else
#define STARLING_CPU_RECIPE_LANES_INL_HPP
#endif

#include "starling/cpu/vectors/lanes/float_lanes-inl.hpp"
#include "starling/knn/words/recipe.hpp"

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

/// Returns the polynomial with these coefficients, from the lowest power on, at `at`.
template <class... Coefficients>
HWY_INLINE FloatLanes polynomial(FloatLanes at, float lowest, Coefficients... others) {
  if constexpr (sizeof...(others) == 0)
    return all_lanes(lowest);
  else
    return multiply_add(polynomial(at, others...), at, all_lanes(lowest));
}

HWY_INLINE FloatLanes logarithm(FloatLanes values) {
  using Terms = DivergenceTerms;
  FloatLanes exponents;
  const FloatLanes v = subtract(divide_by_power(values, Terms::root, exponents), all_lanes(1));
  const FloatLanes q = polynomial(v, Terms::logarithm_0, Terms::logarithm_1, Terms::logarithm_2,
                                  Terms::logarithm_3, Terms::logarithm_4, Terms::logarithm_5,
                                  Terms::logarithm_6, Terms::logarithm_7, Terms::logarithm_8);
  return multiply_add(exponents, all_lanes(Terms::ln_2), multiply_add(multiply(v, v), q, v));
}

/// The terms of components x and y that both divergences use.
struct DivergenceLanes {
  FloatLanes t, a, u, w;

  HWY_INLINE DivergenceLanes(FloatLanes x, FloatLanes y)
      : t(subtract(x, y)),
        a(add(x, y)),
        u(divide(t, greatest(a, all_lanes(DivergenceTerms::least)))),
        w(multiply(u, u)) {}
};

HWY_INLINE FloatLanes add_jensen_shannon(FloatLanes x, FloatLanes y, FloatLanes sum) {
  using Terms = DivergenceTerms;
  const DivergenceLanes of(x, y);
  const FloatLanes near =
      multiply(of.w, polynomial(of.w, Terms::even_0, Terms::even_1, Terms::even_2, Terms::even_3,
                                Terms::even_4, Terms::even_5, Terms::even_6));
  const FloatLanes p = add(all_lanes(1), absolute(of.u));
  const FloatLanes q = subtract(all_lanes(1), absolute(of.u));
  const FloatLanes far =
      multiply_add(p, logarithm(p), multiply(q, logarithm(greatest(q, all_lanes(Terms::least)))));
  return multiply_add(of.a, select_below(of.w, all_lanes(0.25f), near, far), sum);
}

HWY_INLINE FloatLanes add_kullback_leibler(FloatLanes x, FloatLanes y, FloatLanes sum) {
  using Terms = DivergenceTerms;
  const DivergenceLanes of(x, y);
  const FloatLanes b = polynomial(of.w, Terms::odd_0, Terms::odd_1, Terms::odd_2, Terms::odd_3,
                                  Terms::odd_4, Terms::odd_5, Terms::odd_6);
  const FloatLanes near =
      multiply(multiply(of.a, of.w), multiply_add(of.u, b, multiply_add(of.w, b, all_lanes(1))));
  const FloatLanes least = all_lanes(Terms::least);
  const FloatLanes ratio = logarithm(divide(greatest(x, least), greatest(y, least)));
  const FloatLanes far =
      greatest(multiply_add(x, ratio, subtract(all_lanes(0), of.t)), all_lanes(0));
  return add(sum, select_below(of.w, all_lanes(0.25f), near, far));
}

/// Adds component x of a query and components y of rows to the sums of the rows.
template <Recipe recipe>
HWY_INLINE FloatLanes add_component(FloatLanes x, FloatLanes y, FloatLanes sum) {
  if constexpr (recipe == Recipe::product) {
    return multiply_add(x, y, sum);
  } else if constexpr (recipe == Recipe::absolute_differences) {
    return add(sum, absolute(subtract(x, y)));
  } else if constexpr (recipe == Recipe::largest_difference) {
    return greatest(sum, absolute(subtract(x, y)));
  } else if constexpr (recipe == Recipe::jensen_shannon) {
    return add_jensen_shannon(x, y, sum);
  } else if constexpr (recipe == Recipe::kullback_leibler) {
    return add_kullback_leibler(x, y, sum);
  } else {
    const FloatLanes t = subtract(x, y);
    return multiply_add(t, t, sum);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
