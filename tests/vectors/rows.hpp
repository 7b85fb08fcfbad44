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
  gaussian_at_10,       ///< the mean of each component is so many deviations from zero,
  gaussian_at_100,      ///< where |x|^2 - 2 x y + |y|^2 loses what tells rows apart
  gaussian_at_1000,     //
  all_equal,            //
  many_duplicates,      ///< a few rows again and again
  tight_clusters,       ///< some far centres, and steps of one unit in the last place around them
  utm_grid,             ///< points of a grid of 1 m at a place's UTM coordinates
  small_integers,       ///< exact sums, and many ties that are no duplicates
  subnormal,            ///< components below 2^-126
  subnormal_squares,    ///< components whose squares are
  largest,              ///< 2^56 and -2^56, and a little less
  largest_and_smallest  ///< each component of one or the other
};

std::string_view to_string(RowShape shape);
const std::vector<RowShape>& row_shapes();

/// Raw components of so many rows, one row behind the other. Hellinger's are none of them negative.
std::vector<float> draw_rows(RowShape shape, Metric metric, std::uint32_t rows,
                             std::uint32_t dimension, Random& random);

}  // namespace starling::test
