// SPDX-License-Identifier: Apache-2.0
// Launches the kernel that computes a matrix of scores. The methods of Russica & Tisato call it;
// the method multiselect uses the same types.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// The vectors of the rows, or of the columns, of a matrix: components [count][dimension], on the
/// device.
struct MatrixSide {
  const float* components = nullptr;
  std::uint32_t count = 0;  ///< at least 1
  std::uint32_t first = 0;  ///< the number of the first vector; see PairMatrix
};

/// The scores of all pairs of a vector of `a` and a vector of `b`. scores[i * stride + j] is the
/// score of vector i of `a` and vector j of `b`. Vector i of `a` has the number a.first + i, and
/// vector j of `b` has the number b.first + j. If both numbers are equal, the pair is a row with
/// itself, and its score is infinity. Columns from b.count to `stride` have no meaning.
struct PairMatrix {
  MatrixSide a;
  MatrixSide b;
  std::uint32_t dimension = 1;
  float* scores = nullptr;
  std::uint64_t stride = 0;  ///< a multiple of 4, at least b.count
};

/// Enqueued only. Computes the matrix by the distance kernel of Russica & Tisato. The queries are
/// `a` if `has_query_rows` is true, else `b`.
void matrix_scores_async(const PairMatrix& matrix, Recipe recipe, bool has_query_rows,
                         const CudaStream& stream);

}  // namespace starling::gpu
