// SPDX-License-Identifier: Apache-2.0
// Bounds on the score of two rows, computed from their shadows. FilteredSearch discards a row by
// these bounds, so no rounding may make them too narrow.
//
// The shadow of a row x is s h: h has 16-bit integers, s is a float. With x relative to the centre,
// |x - s h| is at most the row's error e. The product of two h is an exact 32-bit integer.
//
// L2: let D = |x - y|, and let r be the distance of the two shadows. By the triangle inequality D
// is within w = e_x + e_y of r. The score S (see VectorNeighbor) is within g D^2 + u of D^2, where
// g = n / (2^24 - n) with n = dimension + 2, and u = dimension * 2^-149 covers underflow
// (docs/decisions/0006-vector-sums.md). Here a row's *value* is D: k rows with D <= B have S <= B^2
// (1 + g) + u, so every one of the k nearest rows has D^2 <= (B^2 (1 + g) + 2 u) / (1 - g) =
// reach^2.
//
// Inner product: the value is S itself, r is the negated product of the shadows, and
// w = e_x |y| + |x_h| e_y + g |x| |y| + u, where x_h is the shadow of x and |x| <= |x_h| + e_x.
//
// Roundings: an error e includes 2^-23 |s h| more than the shadow needs. That covers the float64
// roundings here. They change r^2 by less than 2^-50 of |x_h|^2 + |y_h|^2, so they change r by less
// than 2^-24 of |x_h| + |y_h|, even if the squares cancel.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// What the bounds need to know about the shadow of one row.
struct Shadow {
  double square = 0;  ///< |s h|^2, relatively within 2^-52
  float scale = 1;    ///< s
  float error = 0;    ///< e, rounded up, with the allowance for roundings
};

/// The largest square and error of some rows.
struct ShadowMaxima {
  double square = 0;
  float error = 0;
};

class ScoreInterval {
 public:
  ScoreInterval(Metric metric, std::uint32_t dimension)
      : is_product_(metric == Metric::inner_product),
        recipe_error_((dimension + 2.0) / (0x1p24 - (dimension + 2.0))),
        underflow_(dimension * 0x1p-149) {}

  bool is_product() const { return is_product_; }

  /// r: the value of the two shadows.
  double middle(const Shadow& x, const Shadow& y, std::int32_t product) const {
    const double shadows = static_cast<double>(x.scale) * y.scale * product;
    if (is_product_) return -shadows;
    const double square = x.square + y.square - 2 * shadows;
    return square > 0 ? std::sqrt(square) : 0;
  }

  /// w: how far the value of the rows may be from r.
  double half_width(const Shadow& x, const Shadow& y) const {
    return is_product_ ? product_half_width(x, y.square, y.error)
                       : static_cast<double>(x.error) + y.error;
  }

  /// Returns the largest value that one of the k nearest rows may have, if k rows have values of at
  /// most `bound`.
  double reach(float bound) const {
    if (is_product_) return bound;
    const double square = static_cast<double>(bound) * bound;
    return std::sqrt((square * (1 + recipe_error_) + 2 * underflow_) / (1 - recipe_error_)) *
           (1 + 0x1p-40);
  }

  /// Returns a float that is at least `value`, without a branch.
  static float above(double value) {
    return static_cast<float>(value + std::fabs(value) * 0x1p-23 + 0x1p-148);
  }
  /// Returns a number that is at most r - w, from above(r + w) and w.
  static double below(float above, double half_width) {
    return above - (std::fabs(above) * 0x1p-21 + 0x1p-146) - 2 * half_width;
  }

  /// A scan computes |y_h|^2 - 2 x_h y_h (L2) or -x_h y_h (inner product) in floats, with an error
  /// of at most 2^-21 (|x_h|^2 + |y_h|^2) + 2^-148: one rounding each of |y_h|^2, of the integer
  /// product, of its two multiplications and of the subtraction. Returns a limit that this number
  /// does not exceed if the row's value may be within `reach`.
  float limit(const Shadow& x, const ShadowMaxima& rows, double reach) const {
    const double roundings = 0x1p-20 * (x.square + rows.square) + 0x1p-140;
    const double distance = reach + x.error + rows.error;
    const double exact = is_product_ ? reach + product_half_width(x, rows.square, rows.error)
                                     : distance * distance - x.square;
    return std::fmin(above(exact + roundings), std::numeric_limits<float>::max());
  }

 private:
  double product_half_width(const Shadow& x, double square, double error) const {
    const double x_norm = std::sqrt(x.square);
    const double y_length = std::sqrt(square) + error;
    return x.error * y_length + x_norm * error + recipe_error_ * (x_norm + x.error) * y_length +
           underflow_;
  }

  bool is_product_;
  double recipe_error_;  ///< g
  double underflow_;     ///< u
};

}  // namespace starling::cpu
