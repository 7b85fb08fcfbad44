// SPDX-License-Identifier: Apache-2.0
// The kernel that splits cells with many objects. It also orders crowds. All objects of a crowd are
// equally far from a search, so the objects with the smallest ids come first in the search's list.
// The kernel moves the objects with the smallest ids to the front of their leaf, and sorts the
// front by id. A search that does not test objects for a filter reads only the front. Launched by
// grid_launch.cu.
#pragma once

#include <cub/block/block_scan.cuh>

#include "starling/gpu/points/index/grid_kernel.cuh"

namespace starling::gpu {

inline constexpr unsigned split_large_threads = 512;
/// How many entries sort_front() sorts: a power of two, because a bitonic sort needs one.
inline constexpr std::uint32_t crowd_sort = 2048;
static_assert(crowd_front <= crowd_sort);

/// Orders the objects of a crowded leaf, which is a leaf with more than crowd_min objects. If the
/// leaf is a crowd, its front is its first crowd_front places. A block has one Crowd in shared
/// memory. All threads of the block must call each function together.
struct Crowd {
  union {
    std::uint64_t ids[crowd_sort];  ///< the front's ids
    struct {
      std::uint32_t
          incoming[crowd_front];  ///< places after the front whose objects belong in the front
      std::uint32_t outgoing[crowd_front];  ///< front places of objects that do not belong there
    } swaps;
  };
  Slot slots[crowd_sort];  ///< the front's slots
  std::uint32_t digit_counts[256];
  std::uint32_t incoming_count;
  std::uint32_t outgoing_count;
  std::uint32_t leaf;
  std::uint32_t other;  ///< a place whose position differs from the first place's, or `none`
  std::uint64_t id_max;
  std::uint64_t id_limit;  ///< the greatest id of the front
  std::uint32_t wanted;

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Sets `leaf` to the first crowded leaf of the cell from leaf `first` on. If there is no
  /// such leaf, sets `leaf` to `none`.
  __device__ void find_leaf(const GridMemory& to, const Cell& cell, std::uint32_t first) {
    if (threadIdx.x == 0) leaf = none;
    __syncthreads();
    const std::uint32_t* offsets = to.offsets + cell.first_leaf;
    for (std::uint32_t i = first + threadIdx.x; i < cell.leaves; i += blockDim.x)
      if (offsets[i + 1] - offsets[i] > crowd_min) atomicMin(&leaf, i);
    __syncthreads();
  }

  /// Orders the objects of a leaf as the comment at crowd_min describes. The leaf has the places
  /// from `begin` up to, but not including, `end`.
  __device__ void order(const GridMemory& to, std::uint32_t begin, std::uint32_t end,
                        const ObjectId* object_ids) {
    compare(to, begin, end, object_ids);
    if (other != none) {
      if (threadIdx.x == 0) part_ends(to, begin, end - 1);
    } else {
      find_limit(to, begin, end, object_ids);
      fill_front(to, begin, end, object_ids);
      sort_front(to, begin, object_ids);
    }
    __syncthreads();
  }

 private:
  __device__ static std::uint64_t id_at(const GridMemory& to, std::uint32_t place,
                                        const ObjectId* object_ids) {
    return to_number(object_ids[to.slots[place]]);
  }

  /// Sets id_max, the greatest id of the leaf, and `other`.
  __device__ void compare(const GridMemory& to, std::uint32_t begin, std::uint32_t end,
                          const ObjectId* object_ids) {
    if (threadIdx.x == 0) {
      other = none;
      id_max = 0;
    }
    __syncthreads();
    const int2 first = to.points[begin];
    std::uint64_t own_max = 0;
    for (std::uint32_t place = begin + threadIdx.x; place < end; place += blockDim.x) {
      const int2 at = to.points[place];
      if (at.x != first.x || at.y != first.y) other = place;
      own_max = max(own_max, id_at(to, place, object_ids));
    }
    atomicMax(reinterpret_cast<unsigned long long*>(&id_max), own_max);
    __syncthreads();
  }

  /// If the first and the last object have the same position, swaps the last object with the object
  /// at place `other`, so that searches do not take the leaf for a crowd.
  __device__ void part_ends(const GridMemory& to, std::uint32_t first, std::uint32_t last) const {
    const int2 at_first = to.points[first];
    const int2 at_last = to.points[last];
    if (at_first.x != at_last.x || at_first.y != at_last.y) return;
    const Slot slot = to.slots[last];
    to.points[last] = to.points[other];
    to.slots[last] = to.slots[other];
    to.points[other] = at_last;
    to.slots[other] = slot;
  }

  /// Sets id_limit, by a radix selection from the most significant digit on.
  __device__ void find_limit(const GridMemory& to, std::uint32_t begin, std::uint32_t end,
                             const ObjectId* object_ids) {
    constexpr int digit_bits = 8;
    const int bits = 64 - __clzll(static_cast<long long>(id_max | 1));
    if (threadIdx.x == 0) {
      id_limit = 0;
      wanted = crowd_front;
    }
    for (int shift = (bits - 1) / digit_bits * digit_bits; shift >= 0; shift -= digit_bits) {
      if (threadIdx.x < 256) digit_counts[threadIdx.x] = 0;
      __syncthreads();
      const std::uint64_t known =
          shift + digit_bits == 64 ? 0 : ~std::uint64_t{0} << (shift + digit_bits);
      for (std::uint32_t place = begin + threadIdx.x; place < end; place += blockDim.x) {
        const std::uint64_t id = id_at(to, place, object_ids);
        if (((id ^ id_limit) & known) == 0) atomicAdd(&digit_counts[id >> shift & 255], 1u);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        std::uint64_t digit = 0;
        for (; digit_counts[digit] < wanted; ++digit) wanted -= digit_counts[digit];
        id_limit |= digit << shift;
      }
      __syncthreads();
    }
  }

  /// Swaps slots so that the front has the objects with the ids up to id_limit. Points need no
  /// swap, because all are equal.
  __device__ void fill_front(const GridMemory& to, std::uint32_t begin, std::uint32_t end,
                             const ObjectId* object_ids) {
    if (threadIdx.x == 0) incoming_count = outgoing_count = 0;
    __syncthreads();
    for (std::uint32_t place = begin + threadIdx.x; place < end; place += blockDim.x) {
      const bool belongs = id_at(to, place, object_ids) <= id_limit;
      const bool is_in = place < begin + crowd_front;
      if (belongs && !is_in) swaps.incoming[atomicAdd(&incoming_count, 1u)] = place;
      if (!belongs && is_in) swaps.outgoing[atomicAdd(&outgoing_count, 1u)] = place;
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < incoming_count; i += blockDim.x) {
      const Slot slot = to.slots[swaps.incoming[i]];
      to.slots[swaps.incoming[i]] = to.slots[swaps.outgoing[i]];
      to.slots[swaps.outgoing[i]] = slot;
    }
    __syncthreads();
  }

  /// Sorts the front by id, with a bitonic sort.
  __device__ void sort_front(const GridMemory& to, std::uint32_t begin,
                             const ObjectId* object_ids) {
    for (std::uint32_t i = threadIdx.x; i < crowd_sort; i += blockDim.x) {
      const bool is_object = i < crowd_front;
      slots[i] = is_object ? to.slots[begin + i] : no_slot;
      ids[i] = is_object ? to_number(object_ids[slots[i]]) : ~std::uint64_t{0};
    }
    for (std::uint32_t run = 2; run <= crowd_sort; run *= 2)
      for (std::uint32_t stride = run / 2; stride > 0; stride /= 2) {
        __syncthreads();
        for (std::uint32_t pair = threadIdx.x; pair < crowd_sort / 2; pair += blockDim.x) {
          const std::uint32_t i = 2 * pair - (pair & (stride - 1));
          const bool is_ascending = (i & run) == 0;
          if ((ids[i] > ids[i + stride]) == is_ascending) exchange(i, i + stride);
        }
      }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < crowd_front; i += blockDim.x)
      to.slots[begin + i] = slots[i];
  }

  __device__ void exchange(std::uint32_t i, std::uint32_t j) {
    const std::uint64_t id = ids[i];
    const Slot slot = slots[i];
    ids[i] = ids[j];
    slots[i] = slots[j];
    ids[j] = id;
    slots[j] = slot;
  }
};

/// Orders each crowded leaf of the cell. All threads of the block must call.
__device__ inline void order_crowds(const GridMemory& to, const Cell& cell,
                                    const ObjectId* object_ids, Crowd& crowd) {
  const std::uint32_t* offsets = to.offsets + cell.first_leaf;
  for (std::uint32_t first = 0;;) {
    crowd.find_leaf(to, cell, first);
    const std::uint32_t leaf = crowd.leaf;
    __syncthreads();
    if (leaf == Crowd::none) return;
    crowd.order(to, offsets[leaf], offsets[leaf + 1], object_ids);
    first = leaf + 1;
  }
}

// Splits the large cells, which split_kernel leaves out, and orders crowded leaves. Each block
// splits one cell after another. `ids` is indexed by slot. Static shared memory: 16 KiB of counts,
// the scan's storage, and a Crowd.
__global__ void __launch_bounds__(split_large_threads)
    split_large_kernel(const __grid_constant__ GridMemory to, const ObjectId* ids) {
  constexpr std::uint32_t leaves_max = GridTuning::splits_max * GridTuning::splits_max;
  constexpr std::uint32_t share = leaves_max / split_large_threads;
  using Scan = cub::BlockScan<std::uint32_t, split_large_threads>;
  __shared__ std::uint32_t counts[leaves_max];
  __shared__ typename Scan::TempStorage scan;
  __shared__ Crowd crowd;
  const std::uint32_t large_count = *to.large_count;
  for (std::uint32_t next = blockIdx.x; next < large_count; next += gridDim.x) {
    const Cell cell(to.large_cells[next], to.starts);
    const GridGeometry grid = geometry_at(to, cell);
    for (std::uint32_t leaf = threadIdx.x; leaf < leaves_max; leaf += split_large_threads)
      counts[leaf] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < cell.count; i += split_large_threads)
      atomicAdd(&counts[cell.leaf_at(grid, __ldg(&to.by_cell[cell.start + i]))], 1u);
    __syncthreads();
    std::uint32_t firsts[share];
    for (std::uint32_t i = 0; i < share; ++i) firsts[i] = counts[threadIdx.x * share + i];
    Scan(scan).ExclusiveSum(firsts, firsts);
    __syncthreads();
    for (std::uint32_t i = 0; i < share; ++i) {
      const std::uint32_t leaf = threadIdx.x * share + i;
      counts[leaf] = cell.start + firsts[i];
      if (leaf <= cell.leaves) to.offsets[cell.first_leaf + leaf] = cell.start + firsts[i];
    }
    if (threadIdx.x == 0) to.offsets[cell.first_leaf + cell.leaves] = cell.start + cell.count;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < cell.count; i += split_large_threads) {
      const int4 object = __ldg(&to.by_cell[cell.start + i]);
      put(to, atomicAdd(&counts[cell.leaf_at(grid, object)], 1u), object);
    }
    __syncthreads();
    if (cell.count > crowd_min) order_crowds(to, cell, ids, crowd);
  }
}

}  // namespace starling::gpu
