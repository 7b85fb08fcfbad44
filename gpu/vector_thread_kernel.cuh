// Very many queries of few components: a thread has a few queries and their lists in registers, and
// sees every row.
#pragma once

#include <math_constants.h>

#include "gpu/vector_score.cuh"
#include "gpu/vector_thread_launch.hpp"

namespace starling::gpu {

/// A thread reads a row's components from shared memory, all lanes of a warp the same, and adds
/// them for all its queries: their components and lists fill its registers.
template <unsigned groups_, unsigned k_limit_>
struct ThreadShape {
  static constexpr unsigned threads = 128;
  static constexpr unsigned blocks = 4;          ///< of a multiprocessor, at least
  static constexpr unsigned groups = groups_;    ///< of a row, at most: four components each
  static constexpr unsigned k_limit = k_limit_;  ///< of a list, whatever k is
  static constexpr unsigned queries = groups * 4 + k_limit * 2 <= 24 ? 4 : 2;  ///< of a thread
  static constexpr unsigned stage_panels = 8;  ///< of rows, in shared memory at a time
};

/// The k_limit nearest so far, sorted. Rows come in the order of their numbers, so that of equal
/// scores the first stays before.
template <unsigned k_limit>
struct ThreadList {
  float scores[k_limit];
  std::uint32_t rows[k_limit];

  __device__ __forceinline__ float worst() const { return scores[k_limit - 1]; }

  /// `score` is less than worst().
  __device__ __forceinline__ void insert(float score, std::uint32_t row) {
#pragma unroll
    for (unsigned i = k_limit - 1; i > 0; --i) {
      const bool moves = score < scores[i - 1];
      const bool goes_here = !moves && score < scores[i];
      scores[i] = moves ? scores[i - 1] : goes_here ? score : scores[i];
      rows[i] = moves ? rows[i - 1] : goes_here ? row : rows[i];
    }
    if (score < scores[0]) {
      scores[0] = score;
      rows[0] = row;
    }
  }
};

/// Block b has queries [b * threads * queries, ...), of which thread t has every threads-th from t
/// on. All threads of a block go through the same rows together. Shared bytes: stage_panels *
/// panel_rows * groups * 16. Valid for dimension <= 4 * groups, k <= k_limit.
template <class Shape, bool is_dot>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    vector_thread_kernel(const ThreadScan scan) {
  constexpr unsigned queries = Shape::queries;
  constexpr unsigned groups = Shape::groups;
  __shared__ float4 stage[Shape::stage_panels * panel_rows * groups];
  const std::uint32_t first =
      blockIdx.x * (Shape::threads * queries) + threadIdx.x;  // the others: every threads-th

  float components[queries][groups * 4];
  ThreadList<Shape::k_limit> lists[queries];
#pragma unroll
  for (unsigned i = 0; i < queries; ++i) {
    const std::uint32_t query = first + i * Shape::threads;
#pragma unroll
    for (unsigned j = 0; j < groups * 4; ++j)
      components[i][j] = query < scan.query_count && j < scan.dimension
                             ? scan.queries[std::size_t{query} * scan.dimension + j]
                             : 0.0f;
#pragma unroll
    for (unsigned rank = 0; rank < Shape::k_limit; ++rank) {
      lists[i].scores[rank] = CUDART_INF_F;
      lists[i].rows[rank] = no_row;
    }
  }

  // Known to the compiler where shapes of one group and of two are chosen by it.
  const std::uint32_t group_count = groups <= 2 ? groups : scan.corpus.group_count;
  constexpr std::uint32_t stage_rows = Shape::stage_panels * panel_rows;
  for (std::uint32_t begin = 0; begin < scan.row_end; begin += stage_rows) {
    const std::uint32_t count = min(stage_rows, scan.row_end - begin);
    const std::uint32_t panels = (count + panel_rows - 1) / panel_rows;
    const float4* from = scan.corpus.groups + std::size_t{begin} * group_count;
    __syncthreads();  // nobody reads the stage before any more
    for (std::uint32_t i = threadIdx.x; i < panels * panel_rows * group_count; i += Shape::threads)
      stage[i] = from[i];
    __syncthreads();
    for (std::uint32_t panel = 0; panel < panels; ++panel) {
      const std::uint32_t rows = min(panel_rows, count - panel * panel_rows);
      const float4* at = stage + panel * group_count * panel_rows;
      const std::uint32_t number = scan.first_row + begin + panel * panel_rows;
#pragma unroll 2
      for (std::uint32_t row = 0; row < rows; ++row) {
        float sums[queries] = {};
#pragma unroll
        for (unsigned group = 0; group < groups; ++group) {
          if (group >= group_count) break;
          const float4 of_row = at[group * panel_rows + row];
#pragma unroll
          for (unsigned i = 0; i < queries; ++i) {
            const float* own = components[i] + group * 4;
            sums[i] = add_group<is_dot>(of_row, {own[0], own[1], own[2], own[3]}, sums[i]);
          }
        }
        bool is_near = false;
#pragma unroll
        for (unsigned i = 0; i < queries; ++i) {
          sums[i] = score_of<is_dot>(sums[i]);
          is_near |= sums[i] < lists[i].worst();
        }
        if (!is_near) continue;
#pragma unroll
        for (unsigned i = 0; i < queries; ++i)
          if (sums[i] < lists[i].worst() &&
              number + row != scan.first_self + first + i * Shape::threads)
            lists[i].insert(sums[i], number + row);
      }
    }
  }

#pragma unroll
  for (unsigned i = 0; i < queries; ++i) {
    const std::uint32_t query = first + i * Shape::threads;
    if (query >= scan.query_count) continue;
#pragma unroll
    for (unsigned rank = 0; rank < Shape::k_limit; ++rank)
      if (rank < scan.k)
        scan.lists[std::size_t{query} * scan.k + rank] = {lists[i].scores[rank],
                                                          lists[i].rows[rank]};
  }
}

}  // namespace starling::gpu
