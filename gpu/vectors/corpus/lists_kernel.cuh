// SPDX-License-Identifier: Apache-2.0
// Two kernels for neighbour lists on the device: one empties lists, the other merges two lists of
// each query.
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Writes {infinity, no_row} to all entries of lists [count]. Grid: one thread for each entry.
__global__ void matrix_fill_kernel(VectorNeighbor* lists, std::uint64_t count) {
  const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at < count) lists[at] = {CUDART_INF_F, no_row};
}

/// Each query has one list in `lists` and one in `others`, both [query][k] and ascending. The
/// kernel writes the k nearest entries of both lists to the query's list in `lists`. Grid: one
/// block for each query. The rank of an entry in the result is its index plus the number of smaller
/// entries in the other list. A binary search finds this number. Shared bytes: 16 * vector_k_max.
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
      // Empty entries have equal keys; those of `lists` go before those of `others`.
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
