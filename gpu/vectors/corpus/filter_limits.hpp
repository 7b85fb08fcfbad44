// SPDX-License-Identifier: Apache-2.0
// The constants of filter_interval.cuh: how far the product of two shadows and the recipe's score
// may be from the exact values. They depend only on the dimension.
#pragma once

#include <cmath>
#include <cstdint>

#include "starling/gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

struct FilterLimits {
  /// The error of a chain of tensor products of n components is less than product_error * |x| *
  /// |y|. The model, after Fasi et al. 2021: products are exact; a step adds b >= 2 products and
  /// the sum so far, truncates each addend at 2^-23 of the largest, and truncates the result at
  /// 2^-23 of itself. That makes at most (b + 2) / b * n <= 2 n errors, each at most 2^-23 of the
  /// largest sum of magnitudes, which |x| * |y| bounds (Cauchy-Schwarz). The constant allows 16
  /// more errors. Hopper takes more products a step and keeps more bits (Khattak & Mikaitis 2025).
  float product_error = 0;
  float recipe_error = 0;  ///< relative error of the recipe's score against the exact sum
  float recipe_up = 1;     ///< 1 + recipe_error
  float recipe_down = 1;   ///< 1 / (1 - recipe_error)
  /// Error that underflow may add to a score: d * 2^-149 times the square of the largest scale,
  /// doubled.
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
