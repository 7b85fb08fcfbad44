// A tile of pairs: chains over all components in registers, rows through shared memory. What the
// kernels that write matrices are made of.
#pragma once

#include "gpu/vectors/methods/matrix_launch.hpp"
#include "gpu/vectors/corpus/score.cuh"

namespace starling::gpu {

/// 128 x 128 pairs a block of 256 threads, 8 x 8 a thread: per component four loads of four floats
/// from shared memory for 64 pairs. Shared bytes of PairStages: 16,896.
struct PairTile {
  static constexpr unsigned threads = 256;
  static constexpr unsigned rows = 128;  ///< of either side
  static constexpr unsigned depth = 8;   ///< components of a stage
  static constexpr unsigned width =
      rows + 4;                        ///< against conflicts of banks when stages are written
  static constexpr unsigned held = 8;  ///< of either side, a thread
};

struct PairStages {
  float a[2][PairTile::depth][PairTile::width];
  float b[2][PairTile::depth][PairTile::width];
};

/// Where a block's tile lies. Eight tiles of a side go together, so that blocks that run at once
/// share rows in the cache.
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

/// The row within a tile that a thread's i-th is: two quads, so that reads are of 16 bytes.
__device__ __forceinline__ unsigned held_row(unsigned thread, unsigned i) {
  return thread * 4 + i % 4 + (i / 4) * (PairTile::rows / 2);
}
/// Threads of a side, 16 by 16. A warp has 4 by 8 of them, so that what its lanes read of a side at
/// once is 128 bytes at most.
__device__ __forceinline__ unsigned a_thread() {
  return threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8;
}
__device__ __forceinline__ unsigned b_thread() {
  return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8;
}

/// Four components of a row; what is beyond is 0, which adds fma(0, 0, s) = s.
__device__ __forceinline__ float4 four_components(const MatrixSide& side, std::uint32_t dimension,
                                                  std::uint32_t row, std::uint32_t column) {
  float4 four = {0, 0, 0, 0};
  if (row >= side.count || column >= dimension) return four;
  const float* from = side.components + std::size_t{row} * dimension + column;
  // The base is aligned as all device memory; whole batches keep it where the dimension does.
  if (dimension % 4 == 0) return *reinterpret_cast<const float4*>(from);
  four.x = from[0];
  if (column + 1 < dimension) four.y = from[1];
  if (column + 2 < dimension) four.z = from[2];
  if (column + 3 < dimension) four.w = from[3];
  return four;
}

/// The sums of the thread's pairs, component by component: the recipe of VectorNeighbor, before the
/// sign. By the whole block.
template <bool is_dot>
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
          sums[i][j] = add_component<is_dot>(a[i], b[j], sums[i][j]);
    }
    if (next < matrix.dimension) {
      put(stages.a[stage ^ 1], a_next);
      put(stages.b[stage ^ 1], b_next);
    }
    __syncthreads();
    stage ^= 1;
  }
}

/// Writes the tile, pair by pair what score(sum, a, b) says; for a's of which is_wanted(a).
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

/// Blocks of a kernel of tiles.
inline unsigned tiles_of(const PairMatrix& matrix) {
  return ((matrix.a.count - 1) / PairTile::rows + 1) * ((matrix.b.count - 1) / PairTile::rows + 1);
}

}  // namespace starling::gpu
