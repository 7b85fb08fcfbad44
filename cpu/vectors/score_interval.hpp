// SPDX-License-Identifier: Apache-2.0
// Computes bounds on the score of two rows x and y from their shadows. FilteredSearch discards rows
// by these bounds, so the bounds must hold in spite of all roundings.
//
// The shadow of a row x is x_h = s h. The components of h are 16-bit integers, and s is a float.
// Each row has an error e with |x - x_h| <= e; for L2, the centre has been subtracted from x. The
// product of the h of two rows is an exact 32-bit integer.
//
// The bounds enclose the *value* of x and y, which is defined below for each metric. The shadows
// give r, the value of x_h and y_h, and a number w. The value of x and y is between r - w and
// r + w.
//
// L2: the value is the distance D = |x - y|, and r = |x_h - y_h|. By the triangle inequality,
// w = e_x + e_y. The score S (see VectorNeighbor) differs from D^2 by at most g D^2 + u. In this
// bound g = n / (2^24 - n), n = dimension + 2, and u = dimension * 2^-149 covers underflow
// (docs/decisions/0006-vector-sums.md). If k rows have D <= B, their scores are at most
// B^2 (1 + g) + u. So each of the k nearest rows has D <= reach, where
//   reach^2 = (B^2 (1 + g) + 2 u) / (1 - g).
//
// Inner product: the value is S itself, r is the negated product of x_h and y_h, and
//   w = e_x |y| + |x_h| e_y + g |x| |y| + u, with |x| <= |x_h| + e_x and |y| <= |y_h| + e_y.
//
// Roundings: each e includes an allowance of 2^-23 |x_h| for the float64 roundings in this file.
// These roundings change r^2 by less than 2^-50 (|x_h|^2 + |y_h|^2). So they change r by less than
// 2^-24 (|x_h| + |y_h|), even if the terms of r^2 cancel.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// The data of one row's shadow from which the bounds are computed.
struct Shadow {
  double square = 0;  ///< |x_h|^2, with a relative error of at most 2^-52
  float scale = 1;    ///< s
  float error = 0;    ///< e, rounded up; it includes the allowance for roundings
};

/// The largest square and the largest error among some rows.
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

  /// Returns r. `product` is the product of h of x and h of y.
  double middle(const Shadow& x, const Shadow& y, std::int32_t product) const {
    const double shadows = static_cast<double>(x.scale) * y.scale * product;
    if (is_product_) return -shadows;
    const double square = x.square + y.square - 2 * shadows;
    return square > 0 ? std::sqrt(square) : 0;
  }

  /// Returns w.
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
  /// Returns a number that is at most r - w. `above` is above(r + w), and `half_width` is w.
  static double below(float above, double half_width) {
    return above - (std::fabs(above) * 0x1p-21 + 0x1p-146) - 2 * half_width;
  }

  /// Returns a limit for a scan. For the query x and each row y, the scan computes
  /// f = |y_h|^2 - 2 x_h y_h (L2) or f = -x_h y_h (inner product) in floats. If f is above the
  /// limit, the value of x and y is above `reach`. `rows` are the maxima of all scanned rows.
  ///
  /// The error of f is at most 2^-21 (|x_h|^2 + |y_h|^2) + 2^-148. There are five roundings: of
  /// |y_h|^2, of the integer product, of its multiplications with both scales, and of the
  /// subtraction.
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
