// SPDX-License-Identifier: Apache-2.0
// The constants of filter_interval.cuh: bounds on the errors of the product of two shadows and of
// the recipe's score. The constants depend only on the dimension.
#pragma once

#include <cmath>
#include <cstdint>

#include "starling/gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

struct FilterLimits {
  /// The tensor cores compute the product of two shadows x and y of n components in a chain of
  /// steps. The error of this product is below product_error * |x| * |y|. The model of the error
  /// follows Fasi et al. 2021. The products of components are exact. A step adds b >= 2 of these
  /// products to the sum so far. The step truncates each addend at 2^-23 of the largest addend, and
  /// its result at 2^-23 of the result. So all steps together make at most (b + 2) / b * n <= 2 n
  /// errors. Each error is at most 2^-23 of the largest sum of magnitudes, and |x| * |y| bounds
  /// that sum (Cauchy-Schwarz). product_error allows 16 further errors. Hopper adds more products
  /// in a step and keeps more bits (Khattak & Mikaitis 2025).
  float product_error = 0;
  float recipe_error = 0;  ///< a bound on the relative error of the recipe's score
  float recipe_up = 1;     ///< 1 + recipe_error
  float recipe_down = 1;   ///< 1 / (1 - recipe_error)
  /// The most that underflow adds to the error of a score: 2 * dimension * 2^-149 * (the largest
  /// scale)^2.
  float underflow = 0;
};

inline constexpr int shadow_scale_exponent_max = 40;

inline FilterLimits filter_limits(std::uint32_t dimension) {
  const auto up = [](double value) { return std::nextafter(static_cast<float>(value), INFINITY); };
  const double n = dimension + 2.0;
  const double u = 0x1p-24;
  const double error = n * u / (1 - n * u);
  FilterLimits limits;
  limits.product_error = up((2.0 * shadow_stride(dimension) + 16) * 0x1p-23);
  limits.recipe_error = up(error);
  limits.recipe_up = up(1 + error);
  limits.recipe_down = up(1 / (1 - error));
  limits.underflow = up(2.0 * dimension * std::ldexp(1.0, 2 * shadow_scale_exponent_max - 149));
  return limits;
}

}  // namespace starling::gpu
