// SPDX-License-Identifier: Apache-2.0
// The kernels of CUKNN, the method of S. Liang, Y. Liu, C. Wang, L. Jian, "Design and Evaluation of
// a Parallel K-Nearest Neighbor Algorithm on CUDA-enabled GPU" (2010). They compute distances, find
// the nearest of each segment by rank (local-k), and find the nearest of all segments from queues
// (global-k). cuknn_method.cu launches them.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/methods/method_keys.cuh"

namespace starling::gpu {

/// A reference is a row of the corpus.
struct CuknnTuning {
  static constexpr unsigned segment = 256;  ///< references of a block; each thread has one
  static constexpr unsigned queries = 16;   ///< the paper's r: the sums of a thread
  /// Coordinates of a row that are in shared memory at once; half a warp reads them.
  static constexpr unsigned coordinates = 16;
  static constexpr unsigned global_threads = 32;
};

/// The distances of some queries to a part of the references.
struct CuknnDistances {
  const float* queries = nullptr;     ///< [query_count][dimension]
  const float* references = nullptr;  ///< [reference_count][dimension]
  std::uint32_t query_count = 0;
  std::uint32_t reference_count = 0;
  std::uint32_t dimension = 1;
  std::uint32_t first_reference = 0;  ///< the corpus row of reference 0
  std::uint32_t first_self = 0;       ///< see first_self_of(); query i is row first_self + i
  /// [query_count][stride], padded to whole segments: ordered scores; cuknn_no_ordered if the
  /// reference is no neighbour or does not exist.
  std::uint32_t* distances = nullptr;
  std::uint32_t stride = 0;
};

/// Larger than the ordered form of every score.
inline constexpr std::uint32_t cuknn_no_ordered = ~std::uint32_t{0};

/// Sections 4.2 and 4.4: computes the distances of all references of a part to a batch of queries.
/// Grid: blockIdx.x is a segment of 256 references; the blocks with the same blockIdx.x divide the
/// groups of 16 queries among them. A thread has one reference and maintains the sums of 16
/// queries. Shared memory holds 16 coordinates of the references and of the queries at a time.
/// Neighbouring threads read neighbouring coordinates (4.5.2). References of at most 16 coordinates
/// stay in shared memory for all queries. Shared bytes: 256 * 17 * 4 + 16 * 16 * 4 = 18 KB. Writes
/// all of `distances`.
template <Recipe recipe>
__global__ void __launch_bounds__(CuknnTuning::segment)
    cuknn_distances_kernel(const CuknnDistances task) {
  constexpr unsigned coordinates = CuknnTuning::coordinates;
  constexpr unsigned group = CuknnTuning::queries;
  constexpr unsigned segment = CuknnTuning::segment;
  static_assert(coordinates * group == segment);
  __shared__ float references[segment][coordinates + 1];
  __shared__ __align__(16) float queries[coordinates][group];
  const std::uint32_t begin = blockIdx.x * segment;
  const std::uint32_t reference = begin + threadIdx.x;
  const unsigned lane = threadIdx.x % coordinates;
  const unsigned first = threadIdx.x / coordinates;
  for (std::uint32_t query = blockIdx.y * group; query < task.query_count;
       query += gridDim.y * group) {
    float sums[group] = {};
    for (std::uint32_t at = 0; at < task.dimension; at += coordinates) {
      __syncthreads();
      const bool is_coordinate = at + lane < task.dimension;
      if (task.dimension > coordinates || query == blockIdx.y * group) {
#pragma unroll
        for (unsigned i = 0; i < segment; i += segment / coordinates) {
          const std::uint32_t row = begin + first + i;
          references[first + i][lane] =
              is_coordinate && row < task.reference_count
                  ? task.references[std::size_t{row} * task.dimension + at + lane]
                  : 0.0f;
        }
      }
      queries[lane][first] =
          is_coordinate && query + first < task.query_count
              ? task.queries[std::size_t{query + first} * task.dimension + at + lane]
              : 0.0f;
      __syncthreads();
      const auto add = [&](unsigned j) {
        const float x = references[threadIdx.x][j];
#pragma unroll
        for (unsigned r = 0; r < group; r += 4) {
          const float4 y = *reinterpret_cast<const float4*>(&queries[j][r]);
          sums[r] = add_component<recipe>(y.x, x, sums[r]);
          sums[r + 1] = add_component<recipe>(y.y, x, sums[r + 1]);
          sums[r + 2] = add_component<recipe>(y.z, x, sums[r + 2]);
          sums[r + 3] = add_component<recipe>(y.w, x, sums[r + 3]);
        }
      };
      const std::uint32_t width = min(coordinates, task.dimension - at);
      if (width == coordinates) {
#pragma unroll
        for (unsigned j = 0; j < coordinates; ++j) add(j);
      } else {
        for (unsigned j = 0; j < width; ++j) add(j);
      }
    }
    const std::uint32_t row = task.first_reference + reference;
#pragma unroll
    for (unsigned r = 0; r < group; ++r) {
      if (query + r >= task.query_count) break;
      const bool is_neighbor =
          reference < task.reference_count && row != task.first_self + query + r;
      task.distances[std::size_t{query + r} * task.stride + reference] =
          is_neighbor ? ordered_of(score_of<recipe>(sums[r])) : cuknn_no_ordered;
    }
  }
}

/// The queues that local-k writes and global-k reads: a queue holds the nearest references of a
/// segment. In all arrays the query is the last index, so threads of neighbouring queries read
/// neighbouring entries.
struct CuknnQueues {
  std::uint64_t* keys = nullptr;  ///< [segment][length][query]: ascending; no_key after the last
  std::uint64_t* tops = nullptr;  ///< [segment][query]: the least key not yet popped
  std::uint16_t* positions = nullptr;  ///< [segment][query]: index of the top in its queue
  std::uint32_t segment_count = 0;
  std::uint32_t length = 0;  ///< k, but at most the references of a segment
  std::uint32_t query_count = 0;
};

/// Section 4.3, local-k: fills the queues of a part. Grid: blockIdx.x is a segment, blockIdx.y a
/// query. Thread t takes distance t and finds the rank of this distance by comparing it with all
/// others. Equal distances are ordered by index, which is the order of rows. If the rank is less
/// than the length of the queue, the thread writes the key to index `rank` of the queue. If k is
/// larger than the segment, a queue holds the whole segment, so every k is possible (the paper's k
/// is 7, "usually less than 20"). Shared bytes: 1 KB. Writes the keys, and the top and position of
/// each queue.
__global__ void __launch_bounds__(CuknnTuning::segment)
    cuknn_local_kernel(const std::uint32_t* distances, std::uint32_t stride,
                       std::uint32_t first_reference, const CuknnQueues queues) {
  constexpr unsigned segment = CuknnTuning::segment;
  __shared__ __align__(16) std::uint32_t values[segment];
  const std::uint32_t query = blockIdx.y;
  const std::uint32_t place = blockIdx.x * segment + threadIdx.x;
  const std::uint32_t value = distances[std::size_t{query} * stride + place];
  values[threadIdx.x] = value;
  __syncthreads();
  const unsigned warp_begin = threadIdx.x / 32 * 32;
  std::uint32_t rank = 0;
  const auto count_four = [&](unsigned j, const auto& is_before) {
    const uint4 others = *reinterpret_cast<const uint4*>(&values[j]);
    rank += is_before(others.x, j) + is_before(others.y, j + 1) + is_before(others.z, j + 2) +
            is_before(others.w, j + 3);
  };
#pragma unroll 8
  for (unsigned j = 0; j < warp_begin; j += 4)
    count_four(j, [&](std::uint32_t other, unsigned) { return other <= value ? 1u : 0u; });
#pragma unroll
  for (unsigned j = 0; j < 32; j += 4)
    count_four(warp_begin + j, [&](std::uint32_t other, unsigned at) {
      return other < value || (other == value && at < threadIdx.x) ? 1u : 0u;
    });
#pragma unroll 8
  for (unsigned j = warp_begin + 32; j < segment; j += 4)
    count_four(j, [&](std::uint32_t other, unsigned) { return other < value ? 1u : 0u; });
  if (rank >= queues.length) return;
  const std::uint64_t key =
      value == cuknn_no_ordered ? no_key : std::uint64_t{value} << 32 | (first_reference + place);
  const std::size_t first = std::size_t{blockIdx.x} * queues.query_count + query;
  queues.keys[(std::size_t{blockIdx.x} * queues.length + rank) * queues.query_count + query] = key;
  if (rank == 0) {
    queues.tops[first] = key;
    queues.positions[first] = 0;
  }
}

/// The input and output of global-k.
struct CuknnLists {
  std::uint32_t k = 0;
  const std::uint64_t* before = nullptr;  ///< [k][query]: keys of earlier parts; null if none
  std::uint64_t* after = nullptr;         ///< [k][query]: keys for the next part; null if none
  VectorNeighbor* neighbors = nullptr;    ///< [query][k]: written if `after` is null
};

/// Section 4.3, global-k: finds the k nearest of all queues. Grid: one thread for each query (4.4).
/// Each thread does the following k times: it compares the tops of all queues, takes the least top,
/// and pops it from its queue. The list of earlier parts of the references is one more queue. All
/// keys differ, except no_key, and no_key is not popped. Writes lists.after or lists.neighbors.
__global__ void __launch_bounds__(CuknnTuning::global_threads)
    cuknn_global_kernel(const CuknnQueues queues, const CuknnLists lists) {
  const auto query = static_cast<std::uint32_t>(thread_index());
  if (query >= queues.query_count) return;
  const std::size_t count = queues.query_count;
  std::uint32_t position_before = 0;
  std::uint64_t top_before = lists.before != nullptr ? lists.before[query] : no_key;
  for (std::uint32_t rank = 0; rank < lists.k; ++rank) {
    std::uint64_t least = top_before;
    std::uint32_t segment = queues.segment_count;
#pragma unroll 8
    for (std::uint32_t s = 0; s < queues.segment_count; ++s) {
      const std::uint64_t top = queues.tops[s * count + query];
      if (top < least) {
        least = top;
        segment = s;
      }
    }
    if (lists.after != nullptr)
      lists.after[rank * count + query] = least;
    else
      lists.neighbors[std::size_t{query} * lists.k + rank] = neighbor_of_key(least);
    if (segment < queues.segment_count) {
      const std::size_t queue = segment * count + query;
      const std::uint32_t next = queues.positions[queue] + 1u;
      queues.positions[queue] = static_cast<std::uint16_t>(next);
      queues.tops[queue] =
          next < queues.length
              ? queues.keys[(std::size_t{segment} * queues.length + next) * count + query]
              : no_key;
    } else if (least != no_key) {
      ++position_before;
      top_before =
          position_before < lists.k ? lists.before[position_before * count + query] : no_key;
    }
  }
}

}  // namespace starling::gpu
