// SPDX-License-Identifier: Apache-2.0
// The recipes: how the score of two prepared rows is summed, component after component. The kernels
// in cpu/ and gpu/ are compiled once per recipe. docs/decisions/0014-recipes.md has the reasons and
// the bounds.
#pragma once

#include <cstdint>

#include "starling/knn/words/metric.hpp"

namespace starling {

/// The step of a recipe takes component x of the query, component y of the row and the sum s so
/// far, and returns the new sum; s begins at 0. All operations are in float32, rounded to nearest,
/// with subnormals. t is x - y.
enum class Recipe : std::uint8_t {
  squared_differences,   ///< s = fma(t, t, s)
  product,               ///< s = fma(x, y, s); the score is 0 - s
  absolute_differences,  ///< s = s + |t|
  largest_difference,    ///< s = |t| if |t| > s, else s
  jensen_shannon,        ///< s = fma(x + y, g, s), see DivergenceTerms
  kullback_leibler,      ///< s = s + h, see DivergenceTerms
};

constexpr Recipe recipe_of(Metric metric) {
  switch (metric) {
    case Metric::inner_product:
      return Recipe::product;
    case Metric::l1:
      return Recipe::absolute_differences;
    case Metric::chebyshev:
      return Recipe::largest_difference;
    case Metric::jensen_shannon:
      return Recipe::jensen_shannon;
    case Metric::kullback_leibler:
      return Recipe::kullback_leibler;
    case Metric::l2:
    case Metric::cosine:
    case Metric::pearson:
    case Metric::hellinger:
      break;
  }
  return Recipe::squared_differences;
}

/// Returns true if a faster pass over products of rows can filter candidates for this recipe.
constexpr bool has_filter(Recipe recipe) {
  return recipe == Recipe::squared_differences || recipe == Recipe::product;
}

/// Returns true if exchanging the two rows changes no bit of the score.
constexpr bool is_symmetric(Recipe recipe) {
  return recipe != Recipe::kullback_leibler;
}

/// The terms of the two divergences, for components x of the query and y of the row. x and y are at
/// least 0. `least` is 2^-126, and polynomials are evaluated by fma from the highest power on.
///
///     t = x - y,  a = x + y,  u = t / max(a, least),  w = u * u
///
/// Jensen-Shannon, g = (1 + u) ln(1 + u) + (1 - u) ln(1 - u):
///     if w < 1/4:  g = w * near_even(w)
///     else:        p = 1 + |u|,  q = 1 - |u|,  g = fma(p, ln(p), q * ln(max(q, least)))
///
/// Kullback-Leibler, h = x ln(x / y) - x + y:
///     if w < 1/4:  b = near_odd(w),  h = (a * w) * fma(u, b, fma(w, b, 1))
///     else:        h = max(fma(x, ln(max(x, least) / max(y, least)), -t), 0)
///
/// ln(r), for r of at least 2^-126:
///     i = bits of r - bits of root,  e = i >> 23 (keeps the sign),  v = r / 2^e - 1,
///     ln(r) = fma(e, ln_2, fma(v * v, logarithm(v), v))
///
/// Near w = 0 a difference of logarithms would cancel; the polynomials do not. So the relative
/// error of each term is small, and equal components give exactly 0.
struct DivergenceTerms {
  static constexpr float least = 0x1p-126f;
  static constexpr float root = 0x1.6a09e6p-1f;  ///< the square root of 1/2
  static constexpr float ln_2 = 0x1.62e430p-1f;

  /// near_even(w) = 1/1 + w/6 + w^2/15 + ... + w^n / ((n + 1) (2 n + 1)), within 2^-29.
  static constexpr float even_0 = 0x1.000000p+0f;
  static constexpr float even_1 = 0x1.55554ep-3f;
  static constexpr float even_2 = 0x1.11147ep-4f;
  static constexpr float even_3 = 0x1.23f142p-5f;
  static constexpr float even_4 = 0x1.79f326p-6f;
  static constexpr float even_5 = 0x1.5831f6p-7f;
  static constexpr float even_6 = 0x1.75079ep-6f;

  /// near_odd(w) = 1/3 + w/5 + w^2/7 + ... = (atanh(u) / u - 1) / w, within 2^-24.
  static constexpr float odd_0 = 0x1.555556p-2f;
  static constexpr float odd_1 = 0x1.999964p-3f;
  static constexpr float odd_2 = 0x1.249fc4p-3f;
  static constexpr float odd_3 = 0x1.c4a45ap-4f;
  static constexpr float odd_4 = 0x1.8f7082p-4f;
  static constexpr float odd_5 = 0x1.4f2f8ep-5f;
  static constexpr float odd_6 = 0x1.4015d6p-3f;

  /// logarithm(v) = (ln(1 + v) - v) / v^2 for v in [root - 1, 2 root - 1], within 2^-23.
  static constexpr float logarithm_0 = -0x1.fffffep-2f;
  static constexpr float logarithm_1 = 0x1.555554p-2f;
  static constexpr float logarithm_2 = -0x1.00020cp-2f;
  static constexpr float logarithm_3 = 0x1.99a012p-3f;
  static constexpr float logarithm_4 = -0x1.548382p-3f;
  static constexpr float logarithm_5 = 0x1.22ea5ap-3f;
  static constexpr float logarithm_6 = -0x1.0cda32p-3f;
  static constexpr float logarithm_7 = 0x1.048f72p-3f;
  static constexpr float logarithm_8 = -0x1.3a4ff6p-4f;
};

}  // namespace starling
