// SPDX-License-Identifier: Apache-2.0
// The kernels of the method multiselect (Komarov et al. 2014). A matrix product gives approximate
// distances and bounds on their errors. The bounds exclude most rows; the other rows are scored
// exactly. multiselect_method.cu launches the kernels.
#pragma once

#include <math_constants.h>

#include "starling/gpu/vectors/methods/matrix_tile.cuh"
#include "starling/gpu/vectors/methods/row_values.cuh"
#include "starling/gpu/vectors/scan/finish_kernel.cuh"

namespace starling::gpu {

/// Bounds the difference between two numbers for a pair of rows x and y of d components: `about`,
/// which is |x|^2 + |y|^2 - 2 x y computed in float32, and the recipe's score S.
///
/// Let u = 2^-24 and g(n) = n u / (1 - n u). X and Y are the exact squares of the norms of x and y.
/// N_x and N_y are their computed sums, and |N_x - X| <= g(d) X in whatever order the sum is
/// formed. p is the computed product of x and y, a chain of fused operations; |p - x y| <= g(d)
/// sqrt(X Y) <= g(d) (X + Y) / 2. D is the exact square of the distance. With s = N_x + N_y rounded
/// to float32, and about = fma(-2, p, s):
///   |about - D| <= g(d) (X + Y) + u s + 2 |p - x y| + u |s - 2 p|
///               <= (2 g(d) + 3 u) (X + Y) (1 + 2 g(d)).
/// S is within g(d + 2) D <= 2 g(d + 2) (X + Y) of D (docs/decisions/0006-vector-sums.md). Together
///   |about - S| <= (4 d + 7) u (X + Y) (1 + 4 g(d + 2)) + 6 d 2^-150.
/// The last term is underflow: for each component at most 2^-150 in each of the two norms, twice
/// that in p, and twice that in the recipe. X + Y equals N_x + N_y up to a factor 1 + 2 g(d) and an
/// addend 2 d 2^-150. g(4098) is less than 2.5 10^-4. So, with s rounded up, |about - S| is at most
///   e = relative * s + absolute, where relative = 1.02 (4 d + 16) u and absolute = d 2^-146.
/// Nothing overflows, because |component| <= 2^56.
///
/// The matrix holds upper = about + e, rounded up. |upper| < 5 s + 2 e, so rounding adds at most
/// 2^-23 |upper| + 2^-149, which is less than 2^-20 s + 2^-21 e + 2^-149. Hence
///   upper - (2.01 relative + 2^-20) s - 3 absolute,
/// rounded down, is a lower bound of S. For the other recipes the matrix holds the recipe's scores
/// themselves, and all three constants below are 0.
struct FilterBound {
  float relative = 0;
  float absolute = 0;
  float relative_lower = 0;  ///< 2.01 relative + 2^-20
};

inline FilterBound filter_bound(std::uint32_t dimension, Recipe recipe) {
  if (recipe != Recipe::squared_differences) return {};
  const float relative = static_cast<float>(1.02 * (4.0 * dimension + 16) * 0x1p-24);
  return {relative, static_cast<float>(dimension) * 0x1p-146f, 2.01f * relative + 0x1p-20f};
}

/// Writes the squared norm of each row to norms [count], from components [count][dimension]. Grid:
/// one warp for each row; a lane sums every 32nd component, and lane 0 writes.
__global__ void multiselect_norms_kernel(const float* components, std::uint32_t count,
                                         std::uint32_t dimension, float* norms) {
  const std::uint64_t row = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp_lanes;
  if (row >= count) return;
  const float* from = components + row * dimension;
  float sum = 0;
  for (std::uint32_t i = threadIdx.x % warp_lanes; i < dimension; i += warp_lanes)
    sum = __fmaf_rn(from[i], from[i], sum);
  for (int step = 1; step < static_cast<int>(warp_lanes); step *= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(all_lanes, sum, step));
  if (threadIdx.x % warp_lanes == 0) norms[row] = sum;
}

/// The arguments of a search for queries (matrix.a) among a part of a corpus (matrix.b).
struct MultiselectView {
  PairMatrix matrix;  ///< upper bounds; infinity: not a neighbour
  const float* query_norms = nullptr;
  const float* row_norms = nullptr;
  FilterBound bound;
  const float* limits = nullptr;        ///< [query]: the k-th least upper bound
  std::uint32_t* counts = nullptr;      ///< [query]: number of candidates; may exceed `room`
  std::uint32_t* candidates = nullptr;  ///< [query][room]: columns of the matrix
  std::uint32_t room = 0;               ///< a power of two
  VectorNeighbor* lists = nullptr;      ///< [query][k]
  std::uint32_t k = 0;
};

/// Komarov et al. 2014, "Distance Calculation": computes |x|^2 + |y|^2 - 2 x y for each query x and
/// each row y by a matrix product. This kernel computes the product itself, tile by tile. |x|^2 is
/// the same for all rows and could be left out, but the bound needs it. Writes upper bounds to the
/// matrix. The formula is for squared differences. For any other recipe the tiles sum the recipe
/// itself, and the matrix gets exact scores. Grid: tiles_of() blocks. Shared bytes: PairStages.
/// Valid for any counts and dimensions.
template <Recipe recipe>
__global__ void __launch_bounds__(PairTile::threads, 2)
    multiselect_product_kernel(const MultiselectView view) {
  __shared__ PairStages stages;
  const TilePlace place = tile_place(view.matrix);
  float sums[PairTile::held][PairTile::held];
  sum_tile<recipe == Recipe::squared_differences ? Recipe::product : recipe>(view.matrix, place,
                                                                             stages, sums);
  write_tile(
      view.matrix, place, sums,
      [&](float product, std::uint32_t a, std::uint32_t b) {
        if (b >= view.matrix.b.count || is_self(view.matrix, a, b)) return CUDART_INF_F;
        if constexpr (recipe != Recipe::squared_differences) return score_of<recipe>(product);
        const float x = view.query_norms[a];
        const float y = view.row_norms[b];
        const float about = __fmaf_rn(-2.0f, product, __fadd_rn(x, y));
        const float error = __fmaf_ru(view.bound.relative, __fadd_ru(x, y), view.bound.absolute);
        return __fadd_ru(about, error);
      },
      [](std::uint32_t) { return true; });
}

/// Collects the rows whose lower bound is within the query's limit. Grid: one block for each query.
/// Each warp reserves entries for its rows by a ballot. Writes counts [query], and candidates as
/// far as there is room.
__global__ void multiselect_candidates_kernel(const MultiselectView view) {
  __shared__ std::uint32_t count;
  const std::uint32_t query = blockIdx.x;
  const float* row = view.matrix.scores + query * view.matrix.stride;
  const float limit = view.limits[query];
  const float query_norm = view.query_norms[query];
  const float absolute_lower = __fmul_ru(3.0f, view.bound.absolute);
  std::uint32_t* candidates = view.candidates + std::size_t{query} * view.room;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  constexpr unsigned in_flight = 8;
  const std::uint32_t columns = view.matrix.b.count;
  for (std::uint64_t begin = 0; begin < columns; begin += in_flight * blockDim.x) {
    const auto column_of = [&](unsigned i) {
      return begin + (i / 4 * blockDim.x + threadIdx.x) * 4 + i % 4;
    };
    float uppers[in_flight];
    float norms[in_flight];
#pragma unroll
    for (unsigned i = 0; i < in_flight; i += 4) {
      *reinterpret_cast<float4*>(uppers + i) = four_values(row, columns, column_of(i));
      *reinterpret_cast<float4*>(norms + i) = four_values(view.row_norms, columns, column_of(i));
    }
#pragma unroll
    for (unsigned i = 0; i < in_flight; ++i) {
      const float sum = __fadd_ru(query_norm, norms[i]);
      const float way = __fmaf_ru(view.bound.relative_lower, sum, absolute_lower);
      // Infinity marks a pair that is not wanted, or a column beyond the last.
      const bool is_in = uppers[i] < CUDART_INF_F && __fsub_rd(uppers[i], way) <= limit;
      const unsigned lanes = __ballot_sync(all_lanes, is_in);
      if (lanes == 0) continue;
      const unsigned lane = threadIdx.x % warp_lanes;
      std::uint32_t place = 0;
      if (lane == 0) place = atomicAdd(&count, static_cast<std::uint32_t>(__popc(lanes)));
      place = __shfl_sync(all_lanes, place, 0) +
              static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)));
      if (is_in && place < view.room) candidates[place] = static_cast<std::uint32_t>(column_of(i));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) view.counts[query] = count;
}

/// Returns the recipe's score of a row and a query; the query is in shared memory.
template <Recipe recipe>
__device__ __forceinline__ float exact_score(const float* query, const float* row,
                                             std::uint32_t dimension) {
  float sum = 0;
  if (dimension % 4 == 0) {
#pragma unroll 4
    for (std::uint32_t i = 0; i < dimension; i += 4)
      sum = add_group<recipe>(*reinterpret_cast<const float4*>(query + i),
                              __ldg(reinterpret_cast<const float4*>(row + i)), sum);
  } else {
#pragma unroll 4
    for (std::uint32_t i = 0; i < dimension; ++i)
      sum = add_component<recipe>(query[i], row[i], sum);
  }
  return score_of<recipe>(sum);
}

/// Scores the candidates of each query exactly, sorts them by (score, row) and writes the first k
/// to the query's list. Grid: one block for each query; its threads take the candidates in turn.
/// Queries with more candidates than room are skipped. Shared bytes: 8 * room and the query's
/// components.
template <Recipe recipe>
__global__ void multiselect_rescore_kernel(const MultiselectView view) {
  extern __shared__ std::uint64_t keys[];
  const std::uint32_t query = blockIdx.x;
  const std::uint32_t count = view.counts[query];
  if (count > view.room) return;
  const std::uint32_t dimension = view.matrix.dimension;
  float* components = reinterpret_cast<float*>(keys + view.room);
  for (std::uint32_t i = threadIdx.x; i < dimension; i += blockDim.x)
    components[i] = view.matrix.a.components[std::size_t{query} * dimension + i];
  __syncthreads();
  std::uint32_t size = 2;
  while (size < count) size *= 2;
  const std::uint32_t* candidates = view.candidates + std::size_t{query} * view.room;
  for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
    keys[i] = ~std::uint64_t{0};
    if (i >= count) continue;
    const std::uint32_t column = candidates[i];
    const float* row = view.matrix.b.components + std::size_t{column} * dimension;
    keys[i] = key_of(exact_score<recipe>(components, row, dimension), view.matrix.b.first + column);
  }
  __syncthreads();
  sort_keys(keys, size);
  for (std::uint32_t i = threadIdx.x; i < view.k; i += blockDim.x)
    view.lists[std::size_t{query} * view.k + i] =
        i < count ? VectorNeighbor{score_of_ordered(static_cast<std::uint32_t>(keys[i] >> 32)),
                                   static_cast<VectorRow>(keys[i])}
                  : VectorNeighbor{CUDART_INF_F, no_row};
}

/// L2 only. For each query with more candidates than room, overwrites the upper bounds with exact
/// scores. The caller then selects from these scores. The grid and the shared bytes are those of
/// multiselect_product_kernel. A block returns at once if its tile has none of these queries.
__global__ void __launch_bounds__(PairTile::threads, 2)
    multiselect_exact_kernel(const MultiselectView view) {
  __shared__ PairStages stages;
  const TilePlace place = tile_place(view.matrix);
  const auto is_wanted = [&](std::uint32_t query) { return view.counts[query] > view.room; };
  const std::uint32_t query = place.a_begin + threadIdx.x;
  const bool is_of_block = threadIdx.x < PairTile::rows && query < view.matrix.a.count;
  if (__syncthreads_or(is_of_block && is_wanted(query) ? 1 : 0) == 0) return;
  float sums[PairTile::held][PairTile::held];
  sum_tile<Recipe::squared_differences>(view.matrix, place, stages, sums);
  write_tile(
      view.matrix, place, sums,
      [&](float sum, std::uint32_t a, std::uint32_t b) {
        return is_self(view.matrix, a, b) ? CUDART_INF_F : sum;
      },
      is_wanted);
}

}  // namespace starling::gpu
