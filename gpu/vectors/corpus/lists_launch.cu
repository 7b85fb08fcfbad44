// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of lists_kernel.cuh, with a thread for each entry or a block for each query:
// see lists_launch.hpp.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/lists_kernel.cuh"
#include "starling/gpu/vectors/corpus/lists_launch.hpp"

namespace starling::gpu {

void fill_lists_async(VectorNeighbor* lists, std::uint64_t count, const CudaStream& stream) {
  traced_launch(matrix_fill_kernel, {blocks_for(count), block_threads}, stream, lists, count);
}

void merge_lists_async(VectorNeighbor* lists, const VectorNeighbor* others, std::uint32_t queries,
                       std::uint32_t k, const CudaStream& stream) {
  traced_launch(matrix_merge_kernel, {queries, block_threads}, stream, lists, others, k);
}

}  // namespace starling::gpu
