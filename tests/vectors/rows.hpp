// SPDX-License-Identifier: Apache-2.0
// Rows of vectors for tests: the shapes of data that break sums, bounds and the order of ties.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "starling/knn/words/metric.hpp"
#include "tests/support/random.hpp"

namespace starling::test {

enum class RowShape {
  uniform,              ///< in [0, 1)
  negative,             ///< uniform in [-1, 0)
  gaussian_at_10,       ///< each component has this mean and deviation 1: with large means,
  gaussian_at_100,      ///< |x|^2 - 2 x y + |y|^2 loses the differences of rows
  gaussian_at_1000,     //
  all_equal,            //
  many_duplicates,      ///< copies of a few rows
  tight_clusters,       ///< distant centres, and rows one unit in the last place away from them
  utm_grid,             ///< points of a grid of 1 m at UTM coordinates
  small_integers,       ///< exact sums, and many ties that are not duplicates
  subnormal,            ///< components below 2^-126
  subnormal_squares,    ///< components whose squares are below 2^-126
  largest,              ///< 2^56, -2^56, and smaller values
  largest_and_smallest  ///< each component is as in `largest` or as in `subnormal`
};

std::string_view to_string(RowShape shape);
const std::vector<RowShape>& row_shapes();

/// Returns the raw components of `rows` rows, one row after another. They are not negative for
/// Metric::hellinger.
std::vector<float> draw_rows(RowShape shape, Metric metric, std::uint32_t rows,
                             std::uint32_t dimension, Random& random);

}  // namespace starling::test
