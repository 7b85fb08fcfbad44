// Launches the kernels of matrix_kernel.cuh, all of them traced: see matrix_launch.hpp.
#include "gpu/device/launch_grid.cuh"
#include "gpu/vectors/methods/matrix_kernel.cuh"
#include "gpu/vectors/methods/matrix_launch.hpp"
#include "gpu/device/traced_launch.cuh"

namespace starling::gpu {

void matrix_scores_async(const PairMatrix& matrix, bool is_dot, const Stream& stream) {
  traced_launch(is_dot ? matrix_scores_kernel<true> : matrix_scores_kernel<false>,
                {tiles_of(matrix), PairTile::threads}, stream, matrix);
}

void fill_lists_async(VectorNeighbor* lists, std::uint64_t count, const Stream& stream) {
  traced_launch(matrix_fill_kernel, {blocks_for(count), block_threads}, stream, lists, count);
}

void merge_lists_async(VectorNeighbor* lists, const VectorNeighbor* others, std::uint32_t queries,
                       std::uint32_t k, const Stream& stream) {
  traced_launch(matrix_merge_kernel, {queries, block_threads}, stream, lists, others, k);
}

}  // namespace starling::gpu
