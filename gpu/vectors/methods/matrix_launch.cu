// SPDX-License-Identifier: Apache-2.0
// Launches the kernel of matrix_kernel.cuh; the launch is traced. See matrix_launch.hpp.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/methods/matrix_kernel.cuh"
#include "starling/gpu/vectors/methods/matrix_launch.hpp"

namespace starling::gpu {

void matrix_scores_async(const PairMatrix& matrix, bool is_dot, const CudaStream& stream) {
  traced_launch(is_dot ? matrix_scores_kernel<true> : matrix_scores_kernel<false>,
                {tiles_of(matrix), PairTile::threads}, stream, matrix);
}

}  // namespace starling::gpu
