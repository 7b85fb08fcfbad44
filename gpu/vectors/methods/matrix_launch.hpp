// Kernels that the methods with a matrix of scores share. Called by them; enqueued only.
#pragma once

#include <cstdint>

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"
#include "knn/words/metric.hpp"

namespace starling::gpu {

/// Rows of a matrix' side: [count][dimension], on the device.
struct MatrixSide {
  const float* components = nullptr;
  std::uint32_t count = 0;  ///< at least 1
  std::uint32_t first = 0;  ///< what row 0 is called; see PairMatrix
};

/// scores[a][b] of all pairs, `stride` from one a to the next. A pair of rows that are called the
/// same is none of neighbours: infinity stands there. Columns from b.count to `stride` mean
/// nothing.
struct PairMatrix {
  MatrixSide a;
  MatrixSide b;
  std::uint32_t dimension = 1;
  float* scores = nullptr;
  std::uint64_t stride = 0;  ///< a multiple of 4, b.count or more
};

/// Queries that are rows of the corpus are called as these, others as no row is.
constexpr std::uint32_t first_query_of(VectorRow first_self) {
  return first_self == no_row ? no_self : first_self;
}

/// The distance kernel of Russica & Tisato.
void matrix_scores_async(const PairMatrix& matrix, bool is_dot, const Stream& stream);

/// {infinity, no_row} everywhere.
void fill_lists_async(VectorNeighbor* lists, std::uint64_t count, const Stream& stream);

/// The k nearest of two lists each, into the first: [queries][k], both in order.
void merge_lists_async(VectorNeighbor* lists, const VectorNeighbor* others, std::uint32_t queries,
                       std::uint32_t k, const Stream& stream);

}  // namespace starling::gpu
