// SPDX-License-Identifier: Apache-2.0
// The kernel of the distance matrix of Russica & Tisato. matrix_launch.cu launches it.
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/methods/matrix_tile.cuh"

namespace starling::gpu {

/// Computes the matrix of all distances, as in Russica & Tisato 2023, section 2. In the paper a
/// block has one reference point, each thread computes the term of one dimension, the terms are
/// added in a tree, and the queries are processed one after another. The sum of a tree differs from
/// the recipe's sum. So here a thread sums whole pairs, and a block has the pairs of a PairTile.
/// The queries are `a` if `has_query_rows` is true, else `b`. The matrix holds scores; see
/// PairMatrix for its shape and for the pairs whose score is infinity. Grid: tiles_of() blocks.
/// Shared bytes: PairStages. Valid for any counts and dimensions.
template <Recipe recipe, bool has_query_rows>
__global__ void __launch_bounds__(PairTile::threads, 2)
    matrix_scores_kernel(const PairMatrix matrix) {
  __shared__ PairStages stages;
  const TilePlace place = tile_place(matrix);
  float sums[PairTile::held][PairTile::held];
  sum_tile<recipe, has_query_rows>(matrix, place, stages, sums);
  write_tile(
      matrix, place, sums,
      [&](float sum, std::uint32_t a, std::uint32_t b) {
        return is_self(matrix, a, b) ? CUDART_INF_F : score_of<recipe>(sum);
      },
      [](std::uint32_t) { return true; });
}

}  // namespace starling::gpu
