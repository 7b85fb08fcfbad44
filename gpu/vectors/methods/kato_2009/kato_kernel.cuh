// SPDX-License-Identifier: Apache-2.0
// The kernels of the method of K. Kato and T. Hosino, "Solving k-Nearest Neighbor Problem on
// Multiple Graphics Processors" (2009). They compute grids of the distance matrix tile by tile,
// push rows of distances to heaps, and sort the heaps. kato_method.cu launches them.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/methods/method_keys.cuh"

namespace starling::gpu {

/// `tile` is the side of a tile, the paper's BSIZE and C1. `coordinates` is the paper's C2: how
/// many coordinates are in shared memory at once, a multiple of 32 for coalesced reads. In the
/// paper each thread has one pair of rows. Here a thread has `pairs` by `pairs` pairs in registers.
/// For 16 pairs it reads 8 numbers from shared memory instead of 32, so shared memory does not
/// limit the speed.
struct KatoTuning {
  static constexpr unsigned tile = 64;
  static constexpr unsigned coordinates = 32;
  static constexpr unsigned pairs = 4;
  static constexpr unsigned distance_threads = (tile / pairs) * (tile / pairs);
  static constexpr unsigned select_threads = 128;
  static constexpr unsigned buffer_size = 8;
};

/// The paper's cumulative distance (section III), for any recipe. The sum begins at 0. For each
/// coordinate, operator() takes the coordinates u and v of the query and the row, and the sum so
/// far, and returns the new sum. score() turns the last sum into a score. The paper's own distance
/// is Hellinger's, which is Recipe::squared_differences over prepared rows.
template <Recipe recipe>
struct KatoDistance {
  __device__ float operator()(float u, float v, float sum) const {
    return add_component<recipe>(u, v, sum);
  }
  __device__ static float score(float sum) { return score_of<recipe>(sum); }
};

/// A rectangle of the distance matrix.
struct KatoGrid {
  const float* rows = nullptr;     ///< [row_count][dimension]
  const float* columns = nullptr;  ///< [column_count][dimension]
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::uint32_t dimension = 1;
  float* distances = nullptr;       ///< [row_count][stride], both padded to whole tiles
  std::uint32_t stride = 0;         ///< column_count, padded
  float* mirrored = nullptr;        ///< [column_count][mirror_stride]: transposed; null: not wanted
  std::uint32_t mirror_stride = 0;  ///< row_count, padded
  bool on_diagonal = false;  ///< rows and columns are the same rows; `mirrored` is `distances`
};

/// The components that one thread carries in registers from global to shared memory. All threads of
/// a block together carry components [begin, begin + coordinates) of rows [first, first + tile).
/// Components that do not exist are 0, which adds nothing to a sum. With one load a warp reads 8
/// components of each of 4 rows, which are whole memory sectors. It writes them, transposed, to 32
/// different banks of shared memory.
struct KatoStage {
  static constexpr unsigned values_per_thread =
      KatoTuning::tile * KatoTuning::coordinates / KatoTuning::distance_threads;
  float values[values_per_thread];

  __device__ static unsigned row_of(unsigned i) {
    return threadIdx.x / 8 % 4 + threadIdx.x / 32 * 4 + i / 4 * 32;
  }
  __device__ static unsigned coordinate_of(unsigned i) { return threadIdx.x % 8 + i % 4 * 8; }

  __device__ void read(const float* rows, std::uint32_t first, std::uint32_t count,
                       std::uint32_t dimension, std::uint32_t begin) {
#pragma unroll
    for (unsigned i = 0; i < values_per_thread; ++i) {
      const std::uint32_t row = first + row_of(i);
      const std::uint32_t coordinate = begin + coordinate_of(i);
      values[i] = row < count && coordinate < dimension
                      ? rows[std::size_t{row} * dimension + coordinate]
                      : 0.0f;
    }
  }
  template <unsigned stride>
  __device__ void write(float (&tile)[KatoTuning::coordinates][stride]) const {
#pragma unroll
    for (unsigned i = 0; i < values_per_thread; ++i) tile[coordinate_of(i)][row_of(i)] = values[i];
  }
};

/// Section V, fig. 7, CalcDistances: computes the distances of a KatoGrid. Launch: blockIdx.x is a
/// tile of rows. The blocks with the same blockIdx.x divide the tiles of columns among them. (In
/// the paper one block has all tiles of columns, but a device of today would then be partly idle.)
/// A block has 16 by 16 threads, each with 4 rows and 4 columns of the tile. Shared memory holds 32
/// coordinates of the tile at a time, while the next 32 are being read. If the KatoGrid lies on the
/// diagonal, the tiles left of the diagonal are copied, mirrored, from the tiles right of it.
/// Shared bytes: 2 * 32 * 68 * 4 = 17 KB. Writes row_count x column_count distances; the padding
/// has no meaning.
template <class Cumulative>
__global__ void __launch_bounds__(KatoTuning::distance_threads)
    kato_distances_kernel(const KatoGrid grid) {
  constexpr unsigned tile = KatoTuning::tile;
  constexpr unsigned pairs = KatoTuning::pairs;
  __shared__ __align__(16) float rows[KatoTuning::coordinates][tile + 4];
  __shared__ __align__(16) float columns[KatoTuning::coordinates][tile + 4];
  const unsigned tx = threadIdx.x % (tile / pairs);
  const unsigned ty = threadIdx.x / (tile / pairs);
  const std::uint32_t row_begin = blockIdx.x * tile;
  const Cumulative cumulative;
  for (std::uint32_t column_tile = blockIdx.y; column_tile * tile < grid.column_count;
       column_tile += gridDim.y) {
    if (grid.on_diagonal && column_tile < blockIdx.x) continue;
    const std::uint32_t column_begin = column_tile * tile;
    float sums[pairs][pairs] = {};
    KatoStage next_rows;
    KatoStage next_columns;
    next_rows.read(grid.rows, row_begin, grid.row_count, grid.dimension, 0);
    next_columns.read(grid.columns, column_begin, grid.column_count, grid.dimension, 0);
    for (std::uint32_t begin = 0; begin < grid.dimension; begin += KatoTuning::coordinates) {
      __syncthreads();
      next_rows.write(rows);
      next_columns.write(columns);
      __syncthreads();
      const std::uint32_t next = begin + KatoTuning::coordinates;
      if (next < grid.dimension) {
        next_rows.read(grid.rows, row_begin, grid.row_count, grid.dimension, next);
        next_columns.read(grid.columns, column_begin, grid.column_count, grid.dimension, next);
      }
#pragma unroll 8
      for (unsigned j = 0; j < KatoTuning::coordinates; ++j) {
        const float4 u4 = *reinterpret_cast<const float4*>(&rows[j][ty * pairs]);
        const float4 v4 = *reinterpret_cast<const float4*>(&columns[j][tx * pairs]);
        const float u[pairs] = {u4.x, u4.y, u4.z, u4.w};
        const float v[pairs] = {v4.x, v4.y, v4.z, v4.w};
#pragma unroll
        for (unsigned y = 0; y < pairs; ++y)
#pragma unroll
          for (unsigned x = 0; x < pairs; ++x) sums[y][x] = cumulative(u[y], v[x], sums[y][x]);
      }
    }
#pragma unroll
    for (unsigned y = 0; y < pairs; ++y)
#pragma unroll
      for (unsigned x = 0; x < pairs; ++x) sums[y][x] = Cumulative::score(sums[y][x]);
    const std::uint32_t row = row_begin + ty * pairs;
    const std::uint32_t column = column_begin + tx * pairs;
#pragma unroll
    for (unsigned y = 0; y < pairs; ++y)
      *reinterpret_cast<float4*>(grid.distances + std::size_t{row + y} * grid.stride + column) =
          float4{sums[y][0], sums[y][1], sums[y][2], sums[y][3]};
    if (grid.mirrored == nullptr) continue;
#pragma unroll
    for (unsigned x = 0; x < pairs; ++x)
      *reinterpret_cast<float4*>(grid.mirrored + std::size_t{column + x} * grid.mirror_stride +
                                 row) = float4{sums[0][x], sums[1][x], sums[2][x], sums[3][x]};
  }
}

/// Rows of distances and the heaps that they are pushed to.
struct KatoRows {
  const float* distances = nullptr;  ///< [row][stride]
  std::uint32_t stride = 0;
  std::uint32_t column_count = 0;
  std::uint32_t first_column = 0;  ///< the number of the row in column 0
  std::uint32_t first_self = 0;    ///< see first_self_of(); row i is corpus row first_self + i
  std::uint64_t* heaps = nullptr;  ///< [row][k]: the greatest key first; no_key: empty
  std::uint32_t k = 0;
};

/// A heap in shared memory begins at an odd index, so one aligned read gets both children of a
/// node. The entry after the last node is 0, which is less than every key.
inline constexpr unsigned kato_heap_begin = 1;
__host__ __device__ constexpr std::size_t kato_heap_bytes(std::uint32_t k) {
  return (kato_heap_begin + std::size_t{k} + 1) * sizeof(std::uint64_t);
}

/// Replaces the greatest key of a heap by `key`. Called by one thread.
__device__ inline void kato_push(std::uint64_t* heap, std::uint32_t k, std::uint64_t key) {
  std::uint32_t place = 0;
  for (std::uint32_t child = 1; child < k; child = 2 * place + 1) {
    const ulonglong2 children = *reinterpret_cast<const ulonglong2*>(heap + child);
    const bool is_second = children.y > children.x;
    const std::uint64_t greater = is_second ? children.y : children.x;
    if (greater <= key) break;
    heap[place] = greater;
    place = child + (is_second ? 1 : 0);
  }
  heap[place] = key;
}

/// Section VI, fig. 8, KSmallest: pushes rows of distances to heaps. Grid: one block for each row.
/// Neighbouring threads of the block read neighbouring distances, and buffer in registers the keys
/// below the top of the heap. (The paper's buffers were in slow local memory, as the paper's
/// conclusion regrets.) Then the lanes that hold keys push them one after another, while the other
/// lanes of the warp wait. A lock lets one warp push at a time. Each lane compares its key with the
/// top again before it pushes. During the kernel the heap is in shared memory, for k = 2048 as well
/// as for the paper's k = 100. Equal distances are ordered by row, because a key contains the row.
/// Shared bytes: kato_heap_bytes(k). Afterwards the heap holds the k least of its former keys and
/// the row's keys.
__global__ void __launch_bounds__(KatoTuning::select_threads)
    kato_select_kernel(const KatoRows rows) {
  extern __shared__ __align__(16) std::uint64_t kato_shared[];
  __shared__ std::uint32_t lock;
  std::uint64_t* heap = kato_shared + kato_heap_begin;
  const volatile std::uint64_t* top = heap;
  std::uint64_t* kept = rows.heaps + std::size_t{blockIdx.x} * rows.k;
  for (std::uint32_t i = threadIdx.x; i < rows.k; i += blockDim.x) heap[i] = kept[i];
  if (threadIdx.x == 0) {
    heap[rows.k] = 0;
    lock = 0;
  }
  __syncthreads();
  const float* distances = rows.distances + std::size_t{blockIdx.x} * rows.stride;
  const std::uint32_t self = rows.first_self + blockIdx.x;
  constexpr unsigned buffer_size = KatoTuning::buffer_size;
  constexpr unsigned step = KatoTuning::select_threads * buffer_size;
  for (std::uint32_t begin = 0; begin < rows.column_count; begin += step) {
    float read[buffer_size];
#pragma unroll
    for (unsigned l = 0; l < buffer_size; ++l) {
      const std::uint32_t column = begin + l * KatoTuning::select_threads + threadIdx.x;
      read[l] = column < rows.column_count ? distances[column] : 0.0f;
    }
    const std::uint64_t bound = *top;
    std::uint64_t buffer[buffer_size];
    bool holds = false;
#pragma unroll
    for (unsigned l = 0; l < buffer_size; ++l) {
      const std::uint32_t column = begin + l * KatoTuning::select_threads + threadIdx.x;
      const std::uint32_t row = rows.first_column + column;
      const std::uint64_t key = key_of(read[l], row);
      const bool is_near = column < rows.column_count && row != self && key < bound;
      buffer[l] = is_near ? key : no_key;
      holds = holds || is_near;
    }
    if (__ballot_sync(~0u, holds) == 0) continue;
    enter_by_warp(&lock);
#pragma unroll
    for (unsigned l = 0; l < buffer_size; ++l) {
      while (const unsigned lanes = __ballot_sync(~0u, buffer[l] < *top)) {
        if (threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(lanes))) - 1) {
          kato_push(heap, rows.k, buffer[l]);
          buffer[l] = no_key;
        }
        __syncwarp();
      }
    }
    leave_by_warp(&lock);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < rows.k; i += blockDim.x) kept[i] = heap[i];
}

/// Sorts heaps [query][k] into lists [query][k]. Grid: one block for each query. Shared bytes: 8 *
/// sorted_size_of(k). In the paper the host then merges the heaps of several devices. Here the
/// devices merge their lists, as split_searcher.cpp directs.
__global__ void kato_finish_kernel(const std::uint64_t* heaps, std::uint32_t k,
                                   VectorNeighbor* lists) {
  extern __shared__ __align__(16) std::uint64_t kato_shared[];
  const std::size_t list = std::size_t{blockIdx.x} * k;
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x) kato_shared[i] = heaps[list + i];
  sort_list(kato_shared, k);
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x)
    lists[list + i] = neighbor_of_key(kato_shared[i]);
}

}  // namespace starling::gpu
