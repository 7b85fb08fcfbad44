// The constants of the interval that the product of two shadows leaves for the recipe's score.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

struct FilterLimits {
  /// A chain of tensor products of n components errs by less than product_error * |x| * |y|. The
  /// model (after Fasi et al. 2021; Khattak & Mikaitis 2025 for Hopper, which do better): products
  /// are exact; a step adds b >= 2 of them and the sum so far, each cut off below 2^-23 of the
  /// largest, and cuts the result off at 2^-23 of it. That is (b + 2) / b * n errors at most of
  /// 2^-23 of the largest sum of magnitudes, which Cauchy and Schwarz bound: 2 n, and 16 to spare.
  float product_error = 0;
  float recipe_error = 0;  ///< the score is within this of the exact sum, relatively
  float recipe_up = 1;     ///< 1 + recipe_error
  float recipe_down = 1;   ///< 1 / (1 - recipe_error)
  /// What underflow may add to a score: d * 2^-149, times the largest scale squared.
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
