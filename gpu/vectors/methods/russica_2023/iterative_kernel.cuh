// SPDX-License-Identifier: Apache-2.0
// The two kernels of a round of iterative selection from a matrix of scores. russica_method.cu
// launches them.
#pragma once

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

/// The columns of a subset: 16 for each thread of a block. All 16 loads of a thread are in flight
/// at once.
inline constexpr unsigned iterative_threads = 256;
inline constexpr unsigned iterative_columns = 16;
inline constexpr std::uint32_t iterative_subset = iterative_threads * iterative_columns;

struct IterativeView {
  float* matrix = nullptr;  ///< [query][stride]; infinity: not a neighbour, or already selected
  std::uint64_t stride = 0;
  std::uint32_t columns = 0;
  std::uint32_t queries = 0;
  std::uint32_t subsets = 0;  ///< subsets of a query: columns / iterative_subset, rounded up
  std::uint64_t* candidates = nullptr;  ///< [query][subset]: see key_of()
  VectorNeighbor* lists = nullptr;      ///< [query][k]
  std::uint32_t k = 0;
  std::uint32_t first_row = 0;  ///< the number that column 0 has in lists
};

/// Returns the least key of a warp, in every lane.
__device__ __forceinline__ std::uint64_t least_of_warp(std::uint64_t key) {
  const std::uint32_t ordered = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t least = __reduce_min_sync(all_lanes, ordered);
  const std::uint32_t row = ordered == least ? static_cast<std::uint32_t>(key) : ~0u;
  return std::uint64_t{least} << 32 | __reduce_min_sync(all_lanes, row);
}

/// Russica & Tisato 2023, section 3.1, the first kernel of a round: finds the least score of each
/// subset of a query's scores. Grid: queries * subsets blocks, one block for each subset of each
/// query. Each thread finds the least score of its columns, each warp the least of its lanes, and
/// the first warp the least of the block. Shared bytes: 64. Thread 0 writes candidates
/// [query][subset].
__global__ void __launch_bounds__(iterative_threads)
    iterative_candidates_kernel(const IterativeView view) {
  __shared__ std::uint64_t of_warps[iterative_threads / warp_lanes];
  const std::uint32_t query = blockIdx.x / view.subsets;
  const std::uint32_t begin = blockIdx.x % view.subsets * iterative_subset + threadIdx.x;
  const float* row = view.matrix + query * view.stride;
  float scores[iterative_columns];
#pragma unroll
  for (unsigned i = 0; i < iterative_columns; ++i) {
    const std::uint32_t column = begin + i * iterative_threads;
    scores[i] = column < view.columns ? row[column] : CUDART_INF_F;
  }
  float least = CUDART_INF_F;
  std::uint32_t least_column = no_row;
#pragma unroll
  for (unsigned i = 0; i < iterative_columns; ++i)
    if (scores[i] < least) {  // if scores are equal, the first column stays
      least = scores[i];
      least_column = begin + i * iterative_threads;
    }
  const std::uint64_t of_warp = least_of_warp(key_of(least, least_column));
  if (threadIdx.x % warp_lanes == 0) of_warps[threadIdx.x / warp_lanes] = of_warp;
  __syncthreads();
  if (threadIdx.x >= warp_lanes) return;
  const std::uint64_t of_block = least_of_warp(
      threadIdx.x < iterative_threads / warp_lanes ? of_warps[threadIdx.x] : ~std::uint64_t{0});
  if (threadIdx.x == 0) view.candidates[blockIdx.x] = of_block;
}

/// The second kernel of a round: the least candidate of a query is its neighbour of rank `rank`.
/// The kernel sets this neighbour's score in the matrix to infinity, so that the neighbour is not
/// selected again. No score of a pair is infinity. (The paper sets 1, the largest cosine distance.)
/// Grid: one warp for each query. Lane 0 writes lists [query][rank].
__global__ void iterative_least_kernel(const IterativeView view, std::uint32_t rank) {
  const std::uint32_t query = static_cast<std::uint32_t>(
      (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp_lanes);
  if (query >= view.queries) return;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint64_t* candidates = view.candidates + std::size_t{query} * view.subsets;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t i = lane; i < view.subsets; i += warp_lanes) least = min(least, candidates[i]);
  least = least_of_warp(least);
  if (lane != 0) return;
  const float score = score_of_ordered(static_cast<std::uint32_t>(least >> 32));
  VectorNeighbor found = {CUDART_INF_F, no_row};
  if (score < CUDART_INF_F) {
    const std::uint32_t column = static_cast<std::uint32_t>(least);
    found = {score, view.first_row + column};
    view.matrix[query * view.stride + column] = CUDART_INF_F;
  }
  view.lists[std::size_t{query} * view.k + rank] = found;
}

}  // namespace starling::gpu
