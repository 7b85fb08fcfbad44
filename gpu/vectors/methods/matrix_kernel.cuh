// The distance matrix of Russica & Tisato, and the merging of lists of parts.
#pragma once

#include <math_constants.h>

#include "gpu/vectors/methods/matrix_tile.cuh"

namespace starling::gpu {

/// Russica & Tisato 2023, section 2: the matrix of all distances. There a block has a reference
/// point, a thread a dimension, a tree adds up, and queries follow each other. A tree's sum is not
/// the recipe's, so that here a thread has pairs whole and a block the pairs of a PairTile; what is
/// a distance there is the score. Shapes and infinity: see PairMatrix. Grid: tiles_of(). Shared
/// bytes: PairStages. Valid for any counts and dimensions.
template <bool is_dot>
__global__ void __launch_bounds__(PairTile::threads, 2)
    matrix_scores_kernel(const PairMatrix matrix) {
  __shared__ PairStages stages;
  const TilePlace place = tile_place(matrix);
  float sums[PairTile::held][PairTile::held];
  sum_tile<is_dot>(matrix, place, stages, sums);
  write_tile(
      matrix, place, sums,
      [&](float sum, std::uint32_t a, std::uint32_t b) {
        return is_self(matrix, a, b) ? CUDART_INF_F : score_of<is_dot>(sum);
      },
      [](std::uint32_t) { return true; });
}

/// A thread an entry.
__global__ void matrix_fill_kernel(VectorNeighbor* lists, std::uint64_t count) {
  const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at < count) lists[at] = {CUDART_INF_F, no_row};
}

/// A block a query: each entry's rank is its own place and the count of smaller ones in the other
/// list. Lists [query][k], in order. Shared bytes: 16 * vector_k_max.
__global__ void matrix_merge_kernel(VectorNeighbor* lists, const VectorNeighbor* others,
                                    std::uint32_t k) {
  __shared__ std::uint64_t keys[2][vector_k_max];
  VectorNeighbor* list = lists + std::size_t{blockIdx.x} * k;
  const VectorNeighbor* other = others + std::size_t{blockIdx.x} * k;
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x) {
    keys[0][i] = key_of(list[i].score, list[i].row);
    keys[1][i] = key_of(other[i].score, other[i].row);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < 2 * k; i += blockDim.x) {
    const std::uint32_t from = i / k;
    const std::uint32_t place = i % k;
    const std::uint64_t key = keys[from][place];
    const std::uint64_t* against = keys[1 - from];
    std::uint32_t low = 0;
    std::uint32_t high = k;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      // Entries that are none are equal: those of the first list go first.
      if (from == 0 ? against[middle] < key : against[middle] <= key)
        low = middle + 1;
      else
        high = middle;
    }
    if (place + low < k)
      list[place + low] = {score_of_ordered(static_cast<std::uint32_t>(key >> 32)),
                           static_cast<VectorRow>(key)};
  }
}

}  // namespace starling::gpu
