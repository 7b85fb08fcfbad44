// SPDX-License-Identifier: Apache-2.0
// The kernel that scans a corpus for very many queries with few components. Each thread keeps a few
// queries and their lists in registers, and reads every row. short_rows_launch.cu launches it.
#pragma once

#include <math_constants.h>

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/short_rows_launch.hpp"

namespace starling::gpu {

/// The constants of the kernel for rows of at most `groups_` groups and lists of at most `k_limit_`
/// entries. All lanes of a warp read the same row from shared memory at once. Each lane scores the
/// row for its own queries, whose components and lists fill the lane's registers.
template <unsigned groups_, unsigned k_limit_>
struct ThreadShape {
  static constexpr unsigned threads = 128;
  static constexpr unsigned blocks = 4;  ///< least number of blocks on a multiprocessor at once
  static constexpr unsigned groups = groups_;    ///< most groups of a row; each is four components
  static constexpr unsigned k_limit = k_limit_;  ///< entries of a list, also if k is smaller
  /// Queries of a thread.
  static constexpr unsigned queries = groups * 4 + k_limit * 2 <= 24 ? 4 : 2;
  static constexpr unsigned stage_panels = 8;  ///< panels of rows in shared memory at a time
};

/// The k_limit nearest rows so far, sorted. Rows are inserted in ascending order, so if two rows
/// have equal scores, the smaller row stays in front.
template <unsigned k_limit>
struct ThreadList {
  float scores[k_limit];
  std::uint32_t rows[k_limit];

  __device__ __forceinline__ float worst() const { return scores[k_limit - 1]; }

  /// Inserts a row; `score` must be less than worst().
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

/// The queries of a thread, their lists, and a limit for each query. If the estimate f of a row is
/// above the limit, the row needs no exact score.
///
/// For L2, a row x and a query y of d components are first tested with f = |x|^2 - 2 x y, which
/// costs half as much as the recipe. Let e = (d + 4) 2^-23, let r be the largest |x|^2 of the rows,
/// and let `worst` be the score of the last entry in the query's list. If the score of x is below
/// `worst`, then (docs/decisions/0006-vector-sums.md)
///   |x - y|^2 <= (1 + e) worst + 2^-127.
/// f computed in float32 exceeds the exact f by at most
///   e (2 r + |y|^2) + 2^-127
/// for these reasons. |x|^2 is rounded up d times, each time with a relative error of at most
/// 2^-23. Then d sums are rounded, each with a relative error of at most 2^-24, and no sum exceeds
/// |x|^2 + 2 |x| |y| <= 2 |x|^2 + |y|^2. The 4 in e covers all other roundings, for example the
/// rounding of |y|^2 down. So if the score of x is below `worst`, then
///   f <= (1 + e) worst + e (2 r + |y|^2) + 2^-126 - |y|^2,
/// and the right side, rounded up, is the limit. Rows within the limit are scored by the recipe.
template <class Shape, bool is_dot>
struct ThreadQueries {
  static constexpr unsigned components = Shape::groups * 4;

  float factors[Shape::queries][components];  ///< L2: -2 y, which is exact; inner product: y
  ThreadList<Shape::k_limit> lists[Shape::queries];
  float limits[Shape::queries];
  float offsets[Shape::queries];  ///< the terms of each limit that do not contain `worst`
  float growth;                   ///< 1 + e

  __device__ __forceinline__ void begin(const ThreadScan& scan, std::uint32_t first) {
    growth = 1.0f + static_cast<float>(scan.dimension + 4) * 0x1p-23f;
#pragma unroll
    for (unsigned i = 0; i < Shape::queries; ++i) {
      const std::uint32_t query = first + i * Shape::threads;
#pragma unroll
      for (unsigned j = 0; j < components; ++j) {
        const float component = query < scan.query_count && j < scan.dimension
                                    ? scan.queries[std::size_t{query} * scan.dimension + j]
                                    : 0.0f;
        factors[i][j] = is_dot ? component : -2.0f * component;
      }
#pragma unroll
      for (unsigned rank = 0; rank < Shape::k_limit; ++rank) {
        lists[i].scores[rank] = CUDART_INF_F;
        lists[i].rows[rank] = no_row;
      }
    }
  }

  /// Sets the limits for rows whose largest |x|^2 is `square_max`. Returns false if the limits
  /// would admit many rows that are not near. This happens while lists are not yet full. It also
  /// happens if rows or queries lie so far from the origin that the error of f is large beside
  /// `worst`.
  __device__ __forceinline__ bool set_limits(float square_max) {
    bool is_worth_it = true;
#pragma unroll
    for (unsigned i = 0; i < Shape::queries; ++i) {
      float square = 0;  // |y|^2, rounded down
#pragma unroll
      for (unsigned j = 0; j < components; ++j)
        square = __fmaf_rd(factors[i][j], factors[i][j], square);
      square *= 0.25f;
      const float slack = __fmaf_ru(growth - 1.0f, __fmaf_ru(2.0f, square_max, square), 0x1p-126f);
      offsets[i] = __fsub_ru(slack, square);
      renew_limit(i);
      is_worth_it &= slack <= 0.125f * lists[i].worst() && lists[i].worst() < CUDART_INF_F;
    }
    return is_worth_it;
  }
  __device__ __forceinline__ void renew_limit(unsigned i) {
    limits[i] = __fmaf_ru(lists[i].worst(), growth, offsets[i]);
  }

  /// Returns the partial sum `f` plus the terms of one more group of four components.
  __device__ __forceinline__ float add_estimate(unsigned i, unsigned group, const float4& x,
                                                float f) const {
    const float* y = factors[i] + group * 4;
    return add_group<Recipe::product>(x, {y[0], y[1], y[2], y[3]}, f);
  }
  /// Returns the recipe's sum after one more group of four components. For L2, fma(0.5, -2 y, x) is
  /// x - y, rounded once.
  __device__ __forceinline__ float add_exact(unsigned i, unsigned group, const float4& x,
                                             float sum) const {
    const float* y = factors[i] + group * 4;
    if constexpr (is_dot) return add_group<Recipe::product>(x, {y[0], y[1], y[2], y[3]}, sum);
    const auto add = [&](float component, float factor) {
      const float t = __fmaf_rn(0.5f, factor, component);
      sum = __fmaf_rn(t, t, sum);
    };
    add(x.x, y[0]);
    add(x.y, y[1]);
    add(x.z, y[2]);
    add(x.w, y[3]);
    return sum;
  }
};

/// Some panels of rows in shared memory. For L2 the stage also holds |x|^2 of each row x: f begins
/// with |x|^2, and ThreadQueries::set_limits needs the largest |x|^2 of all these rows.
template <class Shape>
struct ThreadStage {
  static constexpr std::uint32_t rows = Shape::stage_panels * panel_rows;
  static constexpr unsigned warps = Shape::threads / warp_lanes;

  float4 groups[rows * Shape::groups];
  float squares[rows];      ///< |x|^2, rounded up
  float square_max[warps];  ///< the largest of the squares that each warp computed

  /// Replaces the rows in the stage by the `panels` panels from `from` on. Computes squares only
  /// for L2. Called by all threads of the block; all of them may read the stage afterwards.
  template <bool is_dot>
  __device__ __forceinline__ void fill(const float4* from, std::uint32_t panels,
                                       std::uint32_t group_count) {
    float greatest = 0;
    __syncthreads();  // no thread reads the old rows any more
    for (std::uint32_t row = threadIdx.x; row < panels * panel_rows; row += Shape::threads) {
      const std::uint32_t at = row / panel_rows * group_count * panel_rows + row % panel_rows;
      float square = 0;
#pragma unroll
      for (unsigned group = 0; group < Shape::groups; ++group) {
        if (group >= group_count) break;
        const float4 of_row = from[at + group * panel_rows];
        groups[at + group * panel_rows] = of_row;
        for (const float component : {of_row.x, of_row.y, of_row.z, of_row.w})
          square = __fmaf_ru(component, component, square);
      }
      if constexpr (!is_dot) squares[row] = square;
      greatest = fmaxf(greatest, square);
    }
    if constexpr (!is_dot) {
      const unsigned bits = __reduce_max_sync(all_lanes, __float_as_uint(greatest));
      if (threadIdx.x % warp_lanes == 0)
        square_max[threadIdx.x / warp_lanes] = __uint_as_float(bits);
    }
    __syncthreads();
  }

  __device__ __forceinline__ float greatest_square() const {
    float greatest = square_max[0];
#pragma unroll
    for (unsigned warp = 1; warp < warps; ++warp) greatest = fmaxf(greatest, square_max[warp]);
    return greatest;
  }
};

/// Scores the first `rows` rows of a panel for a thread's queries, and inserts near rows into the
/// queries' lists. `number` is the number of the panel's first row in the corpus. `self` is the
/// number of the row that the thread's query 0 skips. If is_limited, f is computed first, and only
/// rows within a query's limit are scored.
template <class Shape, bool is_dot, bool is_limited>
__device__ __forceinline__ void offer_panel(ThreadQueries<Shape, is_dot>& own, const float4* at,
                                            const float* squares, std::uint32_t rows,
                                            std::uint32_t group_count, std::uint32_t number,
                                            std::uint32_t self) {
  constexpr unsigned queries = Shape::queries;
#pragma unroll 2
  for (std::uint32_t row = 0; row < rows; ++row) {
    float sums[queries];
#pragma unroll
    for (unsigned i = 0; i < queries; ++i) sums[i] = is_limited ? squares[row] : 0.0f;
#pragma unroll
    for (unsigned group = 0; group < Shape::groups; ++group) {
      if (group >= group_count) break;
      const float4 of_row = at[group * panel_rows + row];
#pragma unroll
      for (unsigned i = 0; i < queries; ++i)
        sums[i] = is_limited ? own.add_estimate(i, group, of_row, sums[i])
                             : own.add_exact(i, group, of_row, sums[i]);
    }
    bool is_near = false;
#pragma unroll
    for (unsigned i = 0; i < queries; ++i) {
      if (!is_limited && is_dot) sums[i] = score_of<Recipe::product>(sums[i]);
      is_near |= is_limited ? sums[i] <= own.limits[i] : sums[i] < own.lists[i].worst();
    }
    if (!is_near) continue;
#pragma unroll
    for (unsigned i = 0; i < queries; ++i) {
      if (is_limited) {
        if (!(sums[i] <= own.limits[i])) continue;
        sums[i] = 0;
#pragma unroll
        for (unsigned group = 0; group < Shape::groups; ++group) {
          if (group >= group_count) break;
          sums[i] = own.add_exact(i, group, at[group * panel_rows + row], sums[i]);
        }
      }
      if (sums[i] < own.lists[i].worst() && number + row != self + i * Shape::threads) {
        own.lists[i].insert(sums[i], number + row);
        if (is_limited) own.renew_limit(i);
      }
    }
  }
}

/// Scores all rows for all queries and writes the lists [query][k]. Let n be threads * queries of
/// the Shape. Grid: one block for n queries. Thread t of block b has the queries
/// b * n + t + i * threads, for i = 0 to queries - 1, and writes their lists. All threads of a
/// block go through the same rows together. Shared memory: one ThreadStage. Valid for
/// dimension <= 4 * groups and k <= k_limit.
template <class Shape, bool is_dot>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    vector_thread_kernel(const ThreadScan scan) {
  __shared__ ThreadStage<Shape> stage;
  const std::uint32_t first =
      blockIdx.x * (Shape::threads * Shape::queries) + threadIdx.x;  // the thread's query 0
  ThreadQueries<Shape, is_dot> own;
  own.begin(scan, first);

  // A Shape of one or two groups is launched only for rows with exactly this number of groups. So
  // the compiler knows the number.
  const std::uint32_t group_count = Shape::groups <= 2 ? Shape::groups : scan.corpus.group_count;
  for (std::uint32_t begin = 0; begin < scan.row_end; begin += stage.rows) {
    const std::uint32_t count = min(stage.rows, scan.row_end - begin);
    const std::uint32_t panels = (count + panel_rows - 1) / panel_rows;
    stage.template fill<is_dot>(scan.corpus.groups + std::size_t{begin} * group_count, panels,
                                group_count);
    bool is_limited = false;
    if constexpr (!is_dot)
      is_limited = __all_sync(all_lanes, own.set_limits(stage.greatest_square()));
    for (std::uint32_t panel = 0; panel < panels; ++panel) {
      const std::uint32_t rows = min(panel_rows, count - panel * panel_rows);
      const float4* at = stage.groups + panel * group_count * panel_rows;
      const float* squares = stage.squares + panel * panel_rows;
      const std::uint32_t number = scan.first_row + begin + panel * panel_rows;
      const std::uint32_t self = scan.first_self + first;
      if (is_limited)
        offer_panel<Shape, is_dot, true>(own, at, squares, rows, group_count, number, self);
      else
        offer_panel<Shape, is_dot, false>(own, at, squares, rows, group_count, number, self);
    }
  }

#pragma unroll
  for (unsigned i = 0; i < Shape::queries; ++i) {
    const std::uint32_t query = first + i * Shape::threads;
    if (query >= scan.query_count) continue;
#pragma unroll
    for (unsigned rank = 0; rank < Shape::k_limit; ++rank)
      if (rank < scan.k)
        scan.lists[std::size_t{query} * scan.k + rank] = {own.lists[i].scores[rank],
                                                          own.lists[i].rows[rank]};
  }
}

}  // namespace starling::gpu
