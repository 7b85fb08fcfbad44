// SPDX-License-Identifier: Apache-2.0
// Launches the kernel of matrix_kernel.cuh that is compiled for the recipe: see matrix_launch.hpp.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/methods/matrix_kernel.cuh"
#include "starling/gpu/vectors/methods/matrix_launch.hpp"

namespace starling::gpu {

void matrix_scores_async(const PairMatrix& matrix, Recipe recipe, bool has_query_rows,
                         const CudaStream& stream) {
  with_recipe(recipe, [&](auto chosen) {
    constexpr Recipe of = decltype(chosen)::value;
    auto kernel = matrix_scores_kernel<of, true>;
    // For a symmetric recipe one kernel serves both values of has_query_rows.
    if constexpr (!is_symmetric(of))
      if (!has_query_rows) kernel = matrix_scores_kernel<of, false>;
    traced_launch(kernel, {tiles_of(matrix), PairTile::threads}, stream, matrix);
  });
}

}  // namespace starling::gpu
