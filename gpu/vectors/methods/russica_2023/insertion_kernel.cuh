// SPDX-License-Identifier: Apache-2.0
// The kernel of a partial insertion sort of the columns of a matrix of scores. russica_method.cu
// launches it.
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

struct InsertionView {
  /// [row][stride]: one column for each query; the sort overwrites the first k rows.
  float* matrix = nullptr;
  std::uint32_t* rows = nullptr;  ///< [k][stride]: the row numbers of the sorted scores
  std::uint64_t stride = 0;
  std::uint32_t count = 0;  ///< rows of the matrix
  std::uint32_t queries = 0;
  VectorNeighbor* lists = nullptr;  ///< [query][k]
  std::uint32_t k = 0;
  std::uint32_t first_row = 0;  ///< the number that row 0 has in lists
};

/// The column of one query, which is in global memory for every k.
struct SortedColumn {
  float* scores;
  std::uint32_t* rows;
  std::uint64_t stride;
  std::uint32_t k;
  float limit;  ///< a score is inserted only if it is less; infinity at first
  std::uint32_t filled = 0;

  /// Inserts a score. Rows come in ascending order, so a score goes after equal scores.
  __device__ void insert(float score, std::uint32_t row) {
    std::uint32_t place = 0;
    std::uint32_t behind = filled;
    while (place < behind) {
      const std::uint32_t middle = (place + behind) / 2;
      if (scores[middle * stride] <= score)
        place = middle + 1;
      else
        behind = middle;
    }
    // Entries move four at a time, so that their loads do not wait for each other.
    constexpr std::uint32_t moved = 4;
    std::uint32_t to = min(filled, k - 1);
    for (; to >= place + moved; to -= moved) {
      float score_of[moved];
      std::uint32_t row_of[moved];
#pragma unroll
      for (std::uint32_t i = 0; i < moved; ++i) {
        score_of[i] = scores[(to - 1 - i) * stride];
        row_of[i] = rows[(to - 1 - i) * stride];
      }
#pragma unroll
      for (std::uint32_t i = 0; i < moved; ++i) {
        scores[(to - i) * stride] = score_of[i];
        rows[(to - i) * stride] = row_of[i];
      }
    }
    for (; to > place; --to) {
      scores[to * stride] = scores[(to - 1) * stride];
      rows[to * stride] = rows[(to - 1) * stride];
    }
    scores[place * stride] = score;
    rows[place * stride] = row;
    filled = min(filled + 1, k);
    if (filled == k) limit = scores[(k - 1) * stride];
  }
};

inline constexpr unsigned insertion_threads = 32;

/// Russica & Tisato 2023, section 3.2: each thread sorts one column of the matrix by insertion and
/// keeps only the k smallest scores. The sort works in place: the sorted scores overwrite the first
/// k rows of the column, which have been read by then. Grid: one thread for each query. A block is
/// one warp, so that even few queries spread over the device. Neighbouring threads read
/// neighbouring columns. Valid for any k. Writes lists [query][k]; the matrix is destroyed.
__global__ void __launch_bounds__(insertion_threads)
    insertion_sort_kernel(const InsertionView view) {
  constexpr std::uint32_t in_flight = 8;
  const std::uint32_t query = blockIdx.x * insertion_threads + threadIdx.x;
  if (query >= view.queries) return;
  SortedColumn column{view.matrix + query, view.rows + query, view.stride, view.k, CUDART_INF_F};
  for (std::uint32_t begin = 0; begin < view.count; begin += in_flight) {
    // An insertion writes only to rows that have been read, because there are never more sorted
    // scores than scores read.
    float read[in_flight];
#pragma unroll
    for (std::uint32_t i = 0; i < in_flight; ++i)
      read[i] = begin + i < view.count ? column.scores[(begin + i) * view.stride] : CUDART_INF_F;
#pragma unroll
    for (std::uint32_t i = 0; i < in_flight; ++i)
      if (read[i] < column.limit) column.insert(read[i], view.first_row + begin + i);
  }
  VectorNeighbor* list = view.lists + std::size_t{query} * view.k;
  for (std::uint32_t i = 0; i < view.k; ++i)
    list[i] = i < column.filled
                  ? VectorNeighbor{column.scores[i * view.stride], column.rows[i * view.stride]}
                  : VectorNeighbor{CUDART_INF_F, no_row};
}

}  // namespace starling::gpu
