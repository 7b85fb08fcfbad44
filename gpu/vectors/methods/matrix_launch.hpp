// SPDX-License-Identifier: Apache-2.0
// The kernel that computes a matrix of scores. The methods of Russica & Tisato launch it;
// multiselect uses the same types. Enqueued only.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// The rows along one side of a matrix: [count][dimension], on the device.
struct MatrixSide {
  const float* components = nullptr;
  std::uint32_t count = 0;  ///< at least 1
  std::uint32_t first = 0;  ///< the number of row 0; see PairMatrix
};

/// The scores of all pairs of rows of two sides: scores[a * stride + b]. A pair whose rows have the
/// same number is a row with itself: its score is infinity. Columns from b.count to `stride` have
/// no meaning.
struct PairMatrix {
  MatrixSide a;
  MatrixSide b;
  std::uint32_t dimension = 1;
  float* scores = nullptr;
  std::uint64_t stride = 0;  ///< a multiple of 4, at least b.count
};

/// Enqueued only. Computes the matrix by the distance kernel of Russica & Tisato.
void matrix_scores_async(const PairMatrix& matrix, bool is_dot, const CudaStream& stream);

}  // namespace starling::gpu
