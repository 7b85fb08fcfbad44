// SPDX-License-Identifier: Apache-2.0
// The kernels of SBQ-KNN, the method of M. Cordeiro, "K-Nearest Neighbor Exato em GPU" (2023), for
// small batches of queries. A query is searched by one block, or by all blocks together. In the
// second case K-selection takes the nearest from the lists that the blocks found. sbq_method.cu
// launches the kernels.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/methods/method_keys.cuh"

namespace starling::gpu {

/// The paper runs two blocks of 768 threads on a multiprocessor, which is the most that an A4500
/// can hold. Here the registers and the shared memory of tiles allow two blocks of 512 threads.
struct SbqTuning {
  static constexpr unsigned knn_threads = 512;
  static constexpr unsigned warps = knn_threads / 32;
  static constexpr unsigned tile_rows = 32;  ///< rows of a warp's tile: one for each lane
  /// Coordinates of each point that shared memory holds at once.
  static constexpr unsigned coordinates = 32;
  static constexpr unsigned tile_stride = coordinates + 1;
  static constexpr unsigned select_threads = 256;
};

struct SbqTask {
  const float* points = nullptr;  ///< [point_count][dimension]: the paper's reference set P
  std::uint32_t point_count = 0;
  std::uint32_t first_point = 0;   ///< the number of the row that is point 0
  const float* queries = nullptr;  ///< [...][dimension]: the paper's Q
  std::uint32_t dimension = 1;
  std::uint32_t k = 1;
  std::uint32_t first_self = 0;  ///< see first_self_of(); query i is row first_self + i
  /// The number of queries that each block searches, the paper's nq. 0: all blocks with the same
  /// blockIdx.y search one query, each in its own partition of P.
  std::uint32_t queries_per_block = 0;
  std::uint32_t partition_rows = 0;  ///< whole tiles; used if queries_per_block is 0
  VectorNeighbor* lists = nullptr;   ///< [query][k]; written if queries_per_block is not 0
  /// [query][rank][block]: the key of this rank in the block's list; `partial_length` ranks.
  /// Written if queries_per_block is 0.
  std::uint64_t* partial = nullptr;
  std::uint32_t partial_length = 0;  ///< at most k; see Sbq::partition()
};

/// sbq_query_floats() is the size of a query in shared memory, padded to whole tiles.
/// sbq_shared_bytes() is the shared memory of sbq_knn_kernel.
__host__ __device__ constexpr std::size_t sbq_query_floats(std::uint32_t dimension) {
  return (dimension + SbqTuning::coordinates - 1) / SbqTuning::coordinates * SbqTuning::coordinates;
}
__host__ __device__ constexpr std::size_t sbq_shared_bytes(std::uint32_t dimension,
                                                           std::uint32_t k) {
  return sorted_size_of(k) * sizeof(std::uint64_t) + sbq_query_floats(dimension) * sizeof(float) +
         SbqTuning::warps * SbqTuning::tile_rows * SbqTuning::tile_stride * sizeof(float);
}

/// Returns, in each lane, the sum for the query and the lane's own point of the tile. The tile has
/// the points [first, end), at most 32. Called by a whole warp. This is the paper's warpDistance,
/// but for 32 points at once.
///
/// In the paper a warp has one point. Each lane sums every 32nd square, and shuffles add the sums
/// of the lanes. The bits of that sum differ from those of the recipe, which is one chain of
/// additions. Here, as in the paper, all lanes read one point together: 32 components of a point,
/// then 32 components of the next point. But each lane then sums the components of its own point in
/// one chain. During these sums, the warp already reads the next 32 components of all points.
template <Recipe recipe>
__device__ inline float sbq_tile_sum(const SbqTask& task, std::uint32_t first, std::uint32_t end,
                                     const float* query, float* tile) {
  constexpr unsigned coordinates = SbqTuning::coordinates;
  constexpr unsigned rows = SbqTuning::tile_rows;
  const unsigned lane = threadIdx.x % 32;
  float next[rows];
  const auto read = [&](std::uint32_t begin) {
    const float* from = task.points + std::size_t{first} * task.dimension + begin + lane;
    const std::uint32_t count = begin + lane < task.dimension ? end - first : 0;
#pragma unroll
    for (unsigned i = 0; i < rows; ++i)
      next[i] = i < count ? __ldg(from + std::size_t{i} * task.dimension) : 0.0f;
  };
  float sum = 0;
  read(0);
  for (std::uint32_t begin = 0; begin < task.dimension; begin += coordinates) {
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) tile[i * SbqTuning::tile_stride + lane] = next[i];
    __syncwarp();
    if (begin + coordinates < task.dimension) read(begin + coordinates);
    const float* point = tile + lane * SbqTuning::tile_stride;
#pragma unroll
    for (unsigned j = 0; j < coordinates; j += 4) {
      const float4 x = *reinterpret_cast<const float4*>(query + begin + j);
      sum = add_component<recipe>(x.x, point[j], sum);
      sum = add_component<recipe>(x.y, point[j + 1], sum);
      sum = add_component<recipe>(x.z, point[j + 2], sum);
      sum = add_component<recipe>(x.w, point[j + 3], sum);
    }
  }
  return sum;
}

/// The paper's sharedKNN and farthestNeighbor: the k nearest keys so far, unsorted, in shared
/// memory.
struct SbqNearest {
  volatile std::uint64_t* keys;
  std::uint32_t k;
  volatile std::uint64_t* farthest;  ///< the greatest key; no_key until there are k keys
  volatile std::uint32_t* place;     ///< index of the farthest key
  volatile std::uint32_t* count;
  std::uint32_t* lock;
};

/// Returns the lane that has the greatest key, or the first of these lanes if several have it.
/// Called by a whole warp; all lanes have the result.
__device__ inline unsigned sbq_lane_of_greatest(std::uint64_t key) {
  const auto high = static_cast<std::uint32_t>(key >> 32);
  const bool has_high = high == __reduce_max_sync(~0u, high);
  const std::uint32_t low = has_high ? static_cast<std::uint32_t>(key) : 0;
  const bool is_greatest = low == __reduce_max_sync(~0u, low) && has_high;
  return static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(~0u, is_greatest)))) - 1;
}

/// The paper's warpMaxReduction: finds the farthest of the k keys and its index. Called by a warp
/// that holds the lock. The paper uses shuffles. Here one instruction finds the maximum of 32-bit
/// numbers in a warp.
__device__ inline void sbq_find_farthest(const SbqNearest& nearest) {
  const unsigned lane = threadIdx.x % 32;
  std::uint64_t greatest = 0;
  std::uint32_t place = 0;
  for (std::uint32_t i = lane; i < nearest.k; i += 32) {
    const std::uint64_t key = nearest.keys[i];
    if (key >= greatest) {
      greatest = key;
      place = i;
    }
  }
  if (lane == sbq_lane_of_greatest(greatest)) {
    *nearest.place = place;
    *nearest.farthest = greatest;
  }
  __syncwarp();
}

/// Offers the keys of a warp's lanes to `nearest` (algorithm 2, lines 18 to 22 and 26 to 30). The
/// first k keys fill empty entries. Later, a key that is nearer than the farthest key replaces the
/// farthest key. The paper synchronises the block after each distance. Here a lock is enough. A
/// warp may at first compare its keys with an outdated farthest key, which is never nearer than the
/// current one, so no near key is lost. The warp compares again when it holds the lock. Called by a
/// whole warp.
__device__ inline void sbq_keep(const SbqNearest& nearest, std::uint64_t key) {
  const unsigned lane = threadIdx.x % 32;
  if (__ballot_sync(~0u, key < *nearest.farthest) == 0) return;
  enter_by_warp(nearest.lock);
  unsigned lanes = __ballot_sync(~0u, key < *nearest.farthest);
  const std::uint32_t count = *nearest.count;
  __syncwarp();
  if (count < nearest.k) {
    const std::uint32_t at = count + static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)));
    const bool is_first = (lanes >> lane & 1) != 0 && at < nearest.k;
    if (is_first) nearest.keys[at] = key;
    const unsigned kept = __ballot_sync(~0u, is_first);
    lanes &= ~kept;
    const std::uint32_t filled = count + static_cast<std::uint32_t>(__popc(kept));
    if (lane == 0) *nearest.count = filled;
    __syncwarp();
    if (filled == nearest.k) sbq_find_farthest(nearest);
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const int from = __ffs(static_cast<int>(lanes)) - 1;
    const std::uint64_t candidate = __shfl_sync(~0u, key, from);
    const bool is_nearer = candidate < *nearest.farthest;
    __syncwarp();
    if (!is_nearer) continue;
    if (lane == 0) nearest.keys[*nearest.place] = candidate;
    __syncwarp();
    sbq_find_farthest(nearest);
  }
  leave_by_warp(nearest.lock);
}

/// Section 4.2, algorithm 2, KNNKernel. Grid: if queries_per_block is not 0, one block for each
/// queries_per_block queries. Otherwise blockIdx.y is a query of the remainder, and blockIdx.x is a
/// partition of P; the paper launches one kernel for each of these queries. A block searches P, or
/// its partition of P, for one query after another. Its warps take the tiles of 32 points in turn.
/// Lists are sorted at the end, for two reasons: answers are sorted, and K-selection reads partial
/// lists rank by rank, so that it sees near keys first. Shared bytes: sbq_shared_bytes(). Writes
/// `lists`, or all of `partial`, with no_key where a partition has fewer keys.
template <Recipe recipe>
__global__ void __launch_bounds__(SbqTuning::knn_threads, 2) sbq_knn_kernel(const SbqTask task) {
  extern __shared__ __align__(16) unsigned char sbq_shared[];
  __shared__ std::uint64_t farthest;
  __shared__ std::uint32_t place;
  __shared__ std::uint32_t count;
  __shared__ std::uint32_t lock;
  auto* query = reinterpret_cast<float*>(sbq_shared);
  const std::size_t query_floats = sbq_query_floats(task.dimension);
  auto* keys = reinterpret_cast<std::uint64_t*>(query + query_floats);
  auto* tiles = reinterpret_cast<float*>(keys + sorted_size_of(task.k));
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  float* tile = tiles + warp * SbqTuning::tile_rows * SbqTuning::tile_stride;
  const SbqNearest nearest = {keys, task.k, &farthest, &place, &count, &lock};

  const bool is_partitioned = task.queries_per_block == 0;
  const std::uint32_t query_begin =
      is_partitioned ? blockIdx.y : blockIdx.x * task.queries_per_block;
  const std::uint32_t query_end = query_begin + (is_partitioned ? 1 : task.queries_per_block);
  const std::uint32_t begin = is_partitioned ? blockIdx.x * task.partition_rows : 0;
  const std::uint32_t end =
      is_partitioned ? min(begin + task.partition_rows, task.point_count) : task.point_count;
  for (std::uint32_t number = query_begin; number < query_end; ++number) {
    for (std::uint32_t j = threadIdx.x; j < query_floats; j += blockDim.x)
      query[j] = j < task.dimension ? task.queries[std::size_t{number} * task.dimension + j] : 0.0f;
    for (std::uint32_t i = threadIdx.x; i < task.k; i += blockDim.x) keys[i] = no_key;
    if (threadIdx.x == 0) {
      farthest = no_key;
      count = 0;
      lock = 0;
    }
    __syncthreads();
    for (std::uint32_t first = begin + warp * SbqTuning::tile_rows; first < end;
         first += SbqTuning::warps * SbqTuning::tile_rows) {
      const float sum = sbq_tile_sum<recipe>(task, first, end, query, tile);
      const std::uint32_t row = task.first_point + first + lane;
      const bool is_neighbor = first + lane < end && row != task.first_self + number;
      sbq_keep(nearest, is_neighbor ? key_of(score_of<recipe>(sum), row) : no_key);
    }
    __syncthreads();
    sort_list(keys, task.k);
    if (is_partitioned) {
      std::uint64_t* to =
          task.partial + std::size_t{number} * task.partial_length * gridDim.x + blockIdx.x;
      for (std::uint32_t rank = threadIdx.x; rank < task.partial_length; rank += blockDim.x)
        to[std::size_t{rank} * gridDim.x] = keys[rank];
    } else {
      for (std::uint32_t rank = threadIdx.x; rank < task.k; rank += blockDim.x)
        task.lists[std::size_t{number} * task.k + rank] = neighbor_of_key(keys[rank]);
    }
    __syncthreads();
  }
}

/// The paper's blockMaxReduction: finds the greatest of the selected keys and its index. Called by
/// the whole block; all threads get both.
__device__ inline void sbq_find_largest(const std::uint64_t* selected, std::uint32_t k,
                                        std::uint64_t& largest, std::uint32_t& place) {
  constexpr unsigned warps = SbqTuning::select_threads / 32;
  __shared__ std::uint64_t greatest_of[warps];
  __shared__ std::uint32_t place_of[warps];
  std::uint64_t greatest = 0;
  std::uint32_t at = 0;
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x)
    if (selected[i] >= greatest) {
      greatest = selected[i];
      at = i;
    }
  if (threadIdx.x % 32 == sbq_lane_of_greatest(greatest)) {
    greatest_of[threadIdx.x / 32] = greatest;
    place_of[threadIdx.x / 32] = at;
  }
  __syncthreads();
  greatest = greatest_of[threadIdx.x % warps];
  const unsigned from = sbq_lane_of_greatest(greatest);
  greatest = greatest_of[from % warps];
  at = place_of[from % warps];
  largest = greatest;
  place = at;
}

/// Section 4.3, algorithm 3, K_Selection: selects the k least keys of a vector. Grid: one block for
/// each query. `vector` is [query][length], with length at least k. At first, the first k keys are
/// selected. Then, in each step, each thread reads one more key. If this key is less than the
/// largest selected key, it replaces that key, and the new largest is found. The paper does not say
/// what happens if several keys of one step are less. Here the least of them goes first, and the
/// others are compared again. Shared bytes: 8 * sorted_size_of(k). Writes lists [query][k], each
/// sorted.
__global__ void __launch_bounds__(SbqTuning::select_threads)
    sbq_select_kernel(const std::uint64_t* vector, std::uint64_t length, std::uint32_t k,
                      VectorNeighbor* lists) {
  extern __shared__ std::uint64_t sbq_selected[];
  __shared__ unsigned long long least;
  vector += blockIdx.x * length;
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x) sbq_selected[i] = vector[i];
  if (threadIdx.x == 0) least = no_key;
  __syncthreads();
  std::uint64_t largest = 0;
  std::uint32_t place = 0;
  sbq_find_largest(sbq_selected, k, largest, place);
  constexpr unsigned in_flight = 4;
  for (std::uint64_t begin = k; begin < length; begin += in_flight * blockDim.x) {
    std::uint64_t elements[in_flight];
#pragma unroll
    for (unsigned step = 0; step < in_flight; ++step) {
      const std::uint64_t i = begin + step * blockDim.x + threadIdx.x;
      elements[step] = i < length ? vector[i] : no_key;
    }
#pragma unroll
    for (unsigned step = 0; step < in_flight; ++step) {
      const std::uint64_t element = elements[step];
      bool is_less = element < largest;
      while (__syncthreads_or(is_less)) {
        if (is_less) atomicMin(&least, element);
        __syncthreads();
        if (is_less && element == least) {
          sbq_selected[place] = element;
          is_less = false;
        }
        __syncthreads();
        if (threadIdx.x == 0) least = no_key;
        sbq_find_largest(sbq_selected, k, largest, place);
        is_less = is_less && element < largest;
      }
    }
  }
  __syncthreads();
  sort_list(sbq_selected, k);
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x)
    lists[std::size_t{blockIdx.x} * k + i] = neighbor_of_key(sbq_selected[i]);
}

}  // namespace starling::gpu
