// SPDX-License-Identifier: Apache-2.0
// The common part of the kernels that write matrices: a block computes a tile of pairs. The sums
// over all components stay in registers, and the components go through shared memory.
#pragma once

#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/methods/matrix_launch.hpp"

namespace starling::gpu {

/// A block of 256 threads computes the scores of 128 x 128 pairs, and each thread computes 8 x 8 of
/// them. For each component a thread loads four times four floats from shared memory for its 64
/// pairs. Bytes of PairStages: 16,896.
struct PairTile {
  static constexpr unsigned threads = 256;
  static constexpr unsigned rows = 128;  ///< rows of `a`, and as many of `b`
  static constexpr unsigned depth = 8;   ///< components that a stage holds
  /// Padded, so that writing a stage causes no bank conflicts.
  static constexpr unsigned width = rows + 4;
  static constexpr unsigned held = 8;  ///< rows of `a` that a thread has, and as many of `b`
};

/// Two stages in shared memory: threads compute with one while they fill the other.
struct PairStages {
  float a[2][PairTile::depth][PairTile::width];
  float b[2][PairTile::depth][PairTile::width];
};

/// The first row of `a` and of `b` in the tile of a block. Blocks that run at the same time have
/// tiles from eight neighbouring rows of tiles, so the cache holds the rows that they share.
struct TilePlace {
  std::uint32_t a_begin = 0;
  std::uint32_t b_begin = 0;
};
__device__ __forceinline__ TilePlace tile_place(const PairMatrix& matrix) {
  constexpr std::uint32_t together = 8;
  const std::uint32_t a_tiles = (matrix.a.count - 1) / PairTile::rows + 1;
  const std::uint32_t b_tiles = (matrix.b.count - 1) / PairTile::rows + 1;
  const std::uint32_t first = blockIdx.x / (together * b_tiles) * together;
  const std::uint32_t height = min(together, a_tiles - first);
  const std::uint32_t within = blockIdx.x % (together * b_tiles);
  return {(first + within % height) * PairTile::rows, within / height * PairTile::rows};
}

/// Returns the index in the tile of a thread's i-th row of `a` or `b`. `thread` is a_thread() or
/// b_thread(). A thread has eight rows of each, in two runs of four neighbouring rows. It reads a
/// run, which is 16 bytes, with one load.
__device__ __forceinline__ unsigned held_row(unsigned thread, unsigned i) {
  return thread * 4 + i % 4 + (i / 4) * (PairTile::rows / 2);
}
/// The coordinates of the calling thread in the block, which is a square of 16 by 16 threads. The
/// threads of a warp form a rectangle of 4 by 8. So one load of all lanes reads at most 8 different
/// runs of 16 bytes, which are 128 bytes.
__device__ __forceinline__ unsigned a_thread() {
  return threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8;
}
__device__ __forceinline__ unsigned b_thread() {
  return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8;
}

/// Returns four components of row `row`, from component `column` on. Rows and components that do
/// not exist give 0. Zeros do not change a sum s: fma(0, 0, s) = s.
__device__ __forceinline__ float4 four_components(const MatrixSide& side, std::uint32_t dimension,
                                                  std::uint32_t row, std::uint32_t column) {
  float4 four = {0, 0, 0, 0};
  if (row >= side.count || column >= dimension) return four;
  const float* from = side.components + std::size_t{row} * dimension + column;
  // `components` is aligned like all device memory. If the dimension is a multiple of 4, every row
  // is aligned too.
  if (dimension % 4 == 0) return *reinterpret_cast<const float4*>(from);
  four.x = from[0];
  if (column + 1 < dimension) four.y = from[1];
  if (column + 2 < dimension) four.z = from[2];
  if (column + 3 < dimension) four.w = from[3];
  return four;
}

/// Computes the sums of the calling thread's pairs, component by component, by the recipe of
/// VectorNeighbor. score_of() turns a sum into a score. Called by the whole block; each thread has
/// its own sums. `has_query_rows` says whether the queries are `a` (true) or `b`.
template <Recipe recipe, bool has_query_rows = true>
__device__ __forceinline__ void sum_tile(const PairMatrix& matrix, const TilePlace& place,
                                         PairStages& stages,
                                         float (&sums)[PairTile::held][PairTile::held]) {
  const unsigned row = threadIdx.x / 2;
  const unsigned quad = threadIdx.x % 2 * 4;
  const auto put = [&](float(*stage)[PairTile::width], const float4& four) {
    stage[quad][row] = four.x;
    stage[quad + 1][row] = four.y;
    stage[quad + 2][row] = four.z;
    stage[quad + 3][row] = four.w;
  };
#pragma unroll
  for (unsigned i = 0; i < PairTile::held; ++i)
#pragma unroll
    for (unsigned j = 0; j < PairTile::held; ++j) sums[i][j] = 0;
  put(stages.a[0], four_components(matrix.a, matrix.dimension, place.a_begin + row, quad));
  put(stages.b[0], four_components(matrix.b, matrix.dimension, place.b_begin + row, quad));
  __syncthreads();
  unsigned stage = 0;
  for (std::uint32_t begin = 0; begin < matrix.dimension; begin += PairTile::depth) {
    const std::uint32_t next = begin + PairTile::depth;
    float4 a_next = {0, 0, 0, 0};
    float4 b_next = {0, 0, 0, 0};
    if (next < matrix.dimension) {
      a_next = four_components(matrix.a, matrix.dimension, place.a_begin + row, next + quad);
      b_next = four_components(matrix.b, matrix.dimension, place.b_begin + row, next + quad);
    }
#pragma unroll
    for (unsigned component = 0; component < PairTile::depth; ++component) {
      float a[PairTile::held];
      float b[PairTile::held];
#pragma unroll
      for (unsigned i = 0; i < PairTile::held; i += 4) {
        *reinterpret_cast<float4*>(a + i) =
            *reinterpret_cast<const float4*>(&stages.a[stage][component][held_row(a_thread(), i)]);
        *reinterpret_cast<float4*>(b + i) =
            *reinterpret_cast<const float4*>(&stages.b[stage][component][held_row(b_thread(), i)]);
      }
#pragma unroll
      for (unsigned i = 0; i < PairTile::held; ++i)
#pragma unroll
        for (unsigned j = 0; j < PairTile::held; ++j)
          sums[i][j] = has_query_rows ? add_component<recipe>(a[i], b[j], sums[i][j])
                                      : add_component<recipe>(b[j], a[i], sums[i][j]);
    }
    if (next < matrix.dimension) {
      put(stages.a[stage ^ 1], a_next);
      put(stages.b[stage ^ 1], b_next);
    }
    __syncthreads();
    stage ^= 1;
  }
}

/// For each pair (a, b) of the tile, writes score(sum, a, b) to the matrix if is_wanted(a) is true.
template <class Score, class IsWanted>
__device__ __forceinline__ void write_tile(const PairMatrix& matrix, const TilePlace& place,
                                           const float (&sums)[PairTile::held][PairTile::held],
                                           const Score& score, const IsWanted& is_wanted) {
#pragma unroll
  for (unsigned i = 0; i < PairTile::held; ++i) {
    const std::uint32_t a = place.a_begin + held_row(a_thread(), i);
    if (a >= matrix.a.count || !is_wanted(a)) continue;
    float* row = matrix.scores + a * matrix.stride;
#pragma unroll
    for (unsigned j = 0; j < PairTile::held; j += 4) {
      const std::uint32_t b = place.b_begin + held_row(b_thread(), j);
      if (b >= matrix.b.count) continue;
      *reinterpret_cast<float4*>(row + b) = {
          score(sums[i][j], a, b), score(sums[i][j + 1], a, b + 1), score(sums[i][j + 2], a, b + 2),
          score(sums[i][j + 3], a, b + 3)};
    }
  }
}

__device__ __forceinline__ bool is_self(const PairMatrix& matrix, std::uint32_t a,
                                        std::uint32_t b) {
  return matrix.a.first + a == matrix.b.first + b;
}

/// Returns the number of blocks of a kernel in which each block computes one tile.
inline unsigned tiles_of(const PairMatrix& matrix) {
  return ((matrix.a.count - 1) / PairTile::rows + 1) * ((matrix.b.count - 1) / PairTile::rows + 1);
}

}  // namespace starling::gpu
