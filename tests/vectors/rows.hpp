// SPDX-License-Identifier: Apache-2.0
// Draws rows of vectors for tests, in shapes for which sums, bounds or the order of ties may go
// wrong.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "starling/knn/words/metric.hpp"
#include "tests/support/random.hpp"

namespace starling::test {

enum class RowShape {
  uniform,               ///< components in [0, 1)
  negative,              ///< uniform in [-1, 0)
  gaussian_at_10,        ///< each component has mean 10 and deviation 1
  gaussian_at_100,       ///< each component has mean 100 and deviation 1
  gaussian_at_1000,      ///< mean 1000: in float32, |x|^2 - 2 x y + |y|^2 is inexact
  all_equal,             ///< copies of one row
  many_duplicates,       ///< copies of a few rows
  tight_clusters,        ///< near copies of a few distant rows: one unit in the last place off
  utm_grid,              ///< points of a grid of 1 m at UTM coordinates
  small_integers,        ///< exact sums, and many ties that are not duplicates
  subnormal,             ///< components of a magnitude below 2^-126
  subnormal_squares,     ///< components whose squares are below 2^-126
  largest,               ///< 2^56, -2^56, and values between them
  largest_and_smallest,  ///< each component is as in `largest` or as in `subnormal`
  mostly_zero            ///< nine of ten components are 0; many rows are zeros
};

std::string_view to_string(RowShape shape);
const std::vector<RowShape>& row_shapes();

/// Returns `rows` rows of raw components, one row after another. No component is negative if the
/// metric does not allow that.
std::vector<float> draw_rows(RowShape shape, Metric metric, std::uint32_t rows,
                             std::uint32_t dimension, Random& random);

}  // namespace starling::test
