// SPDX-License-Identifier: Apache-2.0
// Kernels that build a grid. A counting sort moves the objects to their cells. Then a second
// counting sort moves the objects of each cell to their leaves; the kernel of
// grid_large_kernel.cuh does this for large cells. Launched by grid_launch.cu.
#pragma once

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/index/grid_cells.cuh"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

/// Where the kernels write a grid, and their working memory. The pointers are device pointers.
struct GridMemory {
  GridGeometry* geometry;  ///< [layer]
  std::uint32_t* starts;
  std::uint32_t* offsets;
  int2* points;
  Slot* slots;

  std::uint32_t* counts;       ///< how many objects each cell has, then a 0
  uint4* ranks;                ///< [slot / 4]: the four objects' ranks within their cells
  int4* by_cell;               ///< x, y, slot and layer of the objects, in the order of the cells
  std::uint32_t* large_count;  ///< how many large cells there are
  std::uint32_t* large_cells;  ///< the numbers of these cells
};

/// The smallest rectangle around some positions.
struct Rectangle {
  std::int32_t min_x;
  std::int32_t min_y;
  std::int32_t max_x;
  std::int32_t max_y;

  __device__ static Rectangle of_none() {
    return {min_of_none, min_of_none, max_of_none, max_of_none};
  }
  __device__ void widen(std::int32_t x, std::int32_t y) {
    min_x = min(min_x, x);
    min_y = min(min_y, y);
    max_x = max(max_x, x);
    max_y = max(max_y, y);
  }
};

inline constexpr unsigned samples = 128;
/// If fewer samples than this are living objects, they do not show where most objects are.
inline constexpr unsigned samples_alive_min = 16;

/// Narrows the range from `min` to `max` of an axis, so that it reaches beyond `low` and `high` by
/// no more than half of high - low, plus 1. All but a few samples lie from `low` to `high`.
__device__ inline void cut(std::int32_t& min, std::int32_t& max, std::int32_t low,
                           std::int32_t high) {
  const std::int64_t margin = (std::int64_t{high} - low) / 2 + 1;
  min = static_cast<std::int32_t>(::max(std::int64_t{min}, low - margin));
  max = static_cast<std::int32_t>(::min(std::int64_t{max}, high + margin));
  max = ::max(min, max);  // keeps min <= max, whatever the values are
}

/// Returns a rectangle that holds most objects, within the bounds of all objects. Strays stay
/// outside, because a grid that includes them could have all other objects in one cell.
/// sample_slot(i) gives the slot of sample i. All threads of a block must call, and the block must
/// have at least `samples` threads. The result is valid on the block's first thread. Static shared
/// memory: 1040 bytes.
template <class SampleSlot>
__device__ Rectangle core_of(const ObjectsView& objects, const SampleSlot& sample_slot) {
  __shared__ int2 sampled[samples];
  __shared__ int2 low;
  __shared__ int2 high;
  const unsigned i = threadIdx.x;
  bool is_alive = false;
  if (i < samples) {
    const LatticePoint& at = objects.positions[sample_slot(i)];
    sampled[i] = {at.x, at.y};
    is_alive = at.x != nowhere;
  }
  const auto living = static_cast<unsigned>(__syncthreads_count(is_alive));
  const unsigned few = living / 32;
  if (is_alive) {
    const int2 own = sampled[i];
    unsigned rank_x = 0;
    unsigned rank_y = 0;
    for (unsigned j = 0; j < samples; ++j) {
      const int2 other = sampled[j];
      if (other.x == nowhere) continue;
      rank_x += other.x < own.x || (other.x == own.x && j < i) ? 1 : 0;
      rank_y += other.y < own.y || (other.y == own.y && j < i) ? 1 : 0;
    }
    if (rank_x == few) low.x = own.x;
    if (rank_y == few) low.y = own.y;
    if (rank_x + few + 1 == living) high.x = own.x;
    if (rank_y + few + 1 == living) high.y = own.y;
  }
  __syncthreads();
  const Bounds& bounds = *objects.bounds;
  Rectangle core = {bounds.min[0], bounds.min[1], bounds.max[0], bounds.max[1]};
  if (living < samples_alive_min) return core;
  cut(core.min_x, core.max_x, low.x, high.x);
  cut(core.min_y, core.max_y, low.y, high.y);
  return core;
}

/// Divides the rectangle into cells for `objects` objects, at most `cells_max` cells.
__device__ inline GridGeometry geometry_of(const Rectangle& core, std::uint32_t objects,
                                           std::uint32_t cells_max) {
  GridGeometry grid;
  grid.min_x = core.min_x;
  grid.min_y = core.min_y;
  grid.extent_x = static_cast<std::uint32_t>(core.max_x) - static_cast<std::uint32_t>(core.min_x);
  grid.extent_y = static_cast<std::uint32_t>(core.max_y) - static_cast<std::uint32_t>(core.min_y);
  const float width = static_cast<float>(grid.extent_x) + 1;
  const float height = static_cast<float>(grid.extent_y) + 1;
  constexpr float cell_objects = GridTuning::cell_objects;
  const float even = sqrtf(width * (height / static_cast<float>(objects) * cell_objects));
  const float at_least = max(1.0f, max(width, height) / static_cast<float>(cells_max));
  for (float side = max(even, at_least);; side *= 1.05f) {
    constexpr float unit = 4294967040.0f;  // just below 2^32
    grid.cells_per_unit = max(static_cast<std::uint32_t>(unit / side), 1u);
    const std::uint64_t columns = (std::uint64_t{grid.extent_x} * grid.cells_per_unit >> 32) + 1;
    const std::uint64_t rows = (std::uint64_t{grid.extent_y} * grid.cells_per_unit >> 32) + 1;
    if (columns * rows > cells_max) continue;
    grid.columns = static_cast<std::int32_t>(columns);
    grid.rows = static_cast<std::int32_t>(rows);
    grid.cell_side = 0x1p32f / static_cast<float>(grid.cells_per_unit);
    return grid;
  }
}

// Any number of blocks of block_threads threads. All blocks together clear the cells_max + 1
// counts. The first block computes the geometry of layer 0, clears large_count, and writes the
// unused point after the last place. It also resets the objects' bounds, which count_kernel then
// computes anew.
__global__ void prepare_grid_kernel(const __grid_constant__ ObjectsView objects,
                                    std::uint32_t living, std::uint32_t cells_max,
                                    const __grid_constant__ GridMemory to) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t cell = thread_index(); cell <= cells_max; cell += threads) to.counts[cell] = 0;
  if (blockIdx.x != 0) return;
  const Rectangle core = core_of(objects, [&objects](unsigned i) {
    return static_cast<Slot>(std::uint64_t{i} * objects.slots / samples);
  });
  if (threadIdx.x != 0) return;
  *to.large_count = 0;
  to.points[living] = {};  // searches read pairs of points
  *to.geometry = geometry_of(core, living, cells_max);
  *objects.bounds = {{min_of_none, min_of_none, 0}, {max_of_none, max_of_none, 0}};
}

/// Widens `bounds` so that it holds the rectangles `seen` of all threads of the block. All threads
/// of the block must call, and only once.
__device__ inline void widen(Bounds* bounds, Rectangle seen) {
  constexpr unsigned warps_max = block_threads / 32;
  __shared__ Rectangle of_warps[warps_max];
  const auto of_warp = [](const Rectangle& own) -> Rectangle {
    return {__reduce_min_sync(~0u, own.min_x), __reduce_min_sync(~0u, own.min_y),
            __reduce_max_sync(~0u, own.max_x), __reduce_max_sync(~0u, own.max_y)};
  };
  seen = of_warp(seen);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = seen;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  seen = of_warp(threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : Rectangle::of_none());
  if (threadIdx.x != 0) return;
  // Most rectangles lie within the bounds. Reading an outdated bound costs at most one unnecessary
  // atomic.
  if (seen.min_x < bounds->min[0]) atomicMin(&bounds->min[0], seen.min_x);
  if (seen.min_y < bounds->min[1]) atomicMin(&bounds->min[1], seen.min_y);
  if (seen.max_x > bounds->max[0]) atomicMax(&bounds->max[0], seen.max_x);
  if (seen.max_y > bounds->max[1]) atomicMax(&bounds->max[1], seen.max_y);
}

/// Positions of four consecutive slots. x is `nowhere` for a slot without a living object.
struct FourPositions {
  std::int32_t x[4];
  std::int32_t y[4];

  /// Reads slots `first` to `first` + 3, usually with three loads of 16 bytes. `first` must be a
  /// multiple of four. Slots that do not exist get `nowhere`.
  __device__ FourPositions(const ObjectsView& objects, std::uint64_t first) {
    static_assert(sizeof(LatticePoint) == 12);
    if (first + 4 <= objects.slots) {
      const int4* words = reinterpret_cast<const int4*>(objects.positions + first);
      const int4 a = __ldg(&words[0]);
      const int4 b = __ldg(&words[1]);
      const int4 c = __ldg(&words[2]);
      x[0] = a.x;
      y[0] = a.y;
      x[1] = a.w;
      y[1] = b.x;
      x[2] = b.z;
      y[2] = b.w;
      x[3] = c.y;
      y[3] = c.z;
      return;
    }
    for (unsigned i = 0; i < 4; ++i) {
      const bool is_slot = first + i < objects.slots;
      x[i] = is_slot ? objects.positions[first + i].x : nowhere;
      y[i] = is_slot ? objects.positions[first + i].y : 0;
    }
  }
};

// One thread for every four slots. Counts the objects of each cell. An object's rank in its cell is
// the count before the object was added. Writes counts, one entry for each cell, and ranks, one
// entry for each thread. Also computes the bounds of all objects.
__global__ void __launch_bounds__(block_threads)
    count_kernel(const __grid_constant__ ObjectsView objects,
                 const __grid_constant__ GridMemory to) {
  const GridGeometry grid = *to.geometry;
  const FourPositions at(objects, 4 * thread_index());
  std::uint32_t ranks[4] = {};
  Rectangle seen = Rectangle::of_none();
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (at.x[i] == nowhere) continue;
    ranks[i] = atomicAdd(&to.counts[cell_at(grid, at.x[i], at.y[i])], 1u);
    seen.widen(at.x[i], at.y[i]);
  }
  if (4 * thread_index() < objects.slots)
    to.ranks[thread_index()] = {ranks[0], ranks[1], ranks[2], ranks[3]};
  widen(objects.bounds, seen);
}

// One thread for every four slots. Moves the objects to their cells. Reads ranks and starts; starts
// has the prefix sums of the counts. Writes by_cell, one entry for each living object.
__global__ void __launch_bounds__(block_threads)
    scatter_kernel(const __grid_constant__ ObjectsView objects,
                   const __grid_constant__ GridMemory to) {
  const std::uint64_t first = 4 * thread_index();
  if (first >= objects.slots) return;
  const GridGeometry grid = *to.geometry;
  const FourPositions at(objects, first);
  const uint4 four_ranks = __ldg(&to.ranks[thread_index()]);
  const std::uint32_t ranks[4] = {four_ranks.x, four_ranks.y, four_ranks.z, four_ranks.w};
  std::uint32_t places[4] = {};
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (at.x[i] != nowhere)
      places[i] = __ldg(&to.starts[cell_at(grid, at.x[i], at.y[i])]) + ranks[i];
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (at.x[i] != nowhere)
      to.by_cell[places[i]] = {at.x[i], at.y[i], static_cast<std::int32_t>(first + i), 0};
}

/// A cell whose objects must be moved to the cell's leaves.
struct Cell {
  std::uint32_t start;  ///< its first place
  std::uint32_t count;
  std::int32_t splits;
  std::uint32_t leaves;
  std::uint32_t first_leaf;

  __device__ Cell(std::uint32_t number, const std::uint32_t* starts)
      : start(starts[number]),
        count(starts[number + 1] - start),
        splits(splits_of(count)),
        leaves(static_cast<std::uint32_t>(splits * splits)),
        first_leaf(leaves_of(number, start)) {}

  __device__ std::uint32_t leaf_at(const GridGeometry& grid, const int4& object) const {
    const std::int32_t column = split_at(fraction_of(along_x(grid, object.x)), splits);
    const std::int32_t row = split_at(fraction_of(along_y(grid, object.y)), splits);
    return static_cast<std::uint32_t>(row * splits + column);
  }
};

/// Returns the geometry of the cell's layer. The cell must have objects.
__device__ inline GridGeometry geometry_at(const GridMemory& to, const Cell& cell) {
  return to.geometry[__ldg(&to.by_cell[cell.start]).w];
}

__device__ inline void put(const GridMemory& to, std::uint32_t place, const int4& object) {
  to.points[place] = {object.x, object.y};
  to.slots[place] = static_cast<Slot>(object.z);
}

inline constexpr unsigned split_warps = 8;
/// A warp splits a cell of up to this many objects; a block splits a larger cell.
inline constexpr std::uint32_t warp_objects_max = 512;
/// A cell that a warp splits has at most 11 by 11 leaves, because sqrt(512 / 4) is less than 11.5.
inline constexpr std::uint32_t warp_leaves_max = 121;
static_assert(warp_objects_max / GridTuning::leaf_objects < 132);

/// On entry, `counts` in shared memory has the number of objects of each leaf of the cell. Replaces
/// these numbers with the leaves' first places, and writes the places to the grid's offsets. All
/// lanes of the warp must call.
__device__ inline void place_leaves(const GridMemory& to, const Cell& cell, std::uint32_t* counts) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t before = cell.start;
  for (std::uint32_t first = 0; first < cell.leaves; first += 32) {
    const std::uint32_t leaf = first + lane;
    const std::uint32_t count = leaf < cell.leaves ? counts[leaf] : 0;
    std::uint32_t sum = count;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    if (leaf < cell.leaves) {
      counts[leaf] = before + sum - count;
      to.offsets[cell.first_leaf + leaf] = before + sum - count;
    }
    before += __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0) to.offsets[cell.first_leaf + cell.leaves] = before;
  __syncwarp();
}

// One warp for each cell from number `first` up to, but not including, number `end`. The warp
// splits the cell: it counts the objects of each leaf, and moves the objects to their leaves. It
// does not split a large cell, but adds it to large_cells for split_large_kernel. Writes offsets,
// and points and slots by place. Static shared memory: 20,256 bytes.
__global__ void __launch_bounds__(split_warps * 32)
    split_kernel(const __grid_constant__ GridMemory to, std::uint32_t first, std::uint32_t end) {
  __shared__ std::uint32_t counts_of_warps[split_warps][warp_leaves_max];
  __shared__ std::uint32_t ranks_of_warps[split_warps][warp_objects_max];
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t number = first + blockIdx.x * split_warps + threadIdx.x / 32;
  if (number >= end) return;
  const Cell cell(number, to.starts);
  if (cell.count == 0) return;
  const GridGeometry grid = geometry_at(to, cell);
  if (cell.count > warp_objects_max) {
    if (lane == 0) to.large_cells[atomicAdd(to.large_count, 1u)] = number;
    return;
  }
  std::uint32_t* counts = counts_of_warps[threadIdx.x / 32];
  std::uint32_t* ranks = ranks_of_warps[threadIdx.x / 32];
  for (std::uint32_t leaf = lane; leaf < cell.leaves; leaf += 32) counts[leaf] = 0;
  __syncwarp();
  constexpr unsigned rank_bits = 16;
  for (std::uint32_t i = lane; i < cell.count; i += 32) {
    const std::uint32_t leaf = cell.leaf_at(grid, __ldg(&to.by_cell[cell.start + i]));
    ranks[i] = leaf << rank_bits | atomicAdd(&counts[leaf], 1u);
  }
  __syncwarp();
  place_leaves(to, cell, counts);
  for (std::uint32_t i = lane; i < cell.count; i += 32) {
    const std::uint32_t rank = ranks[i] & ((1u << rank_bits) - 1);
    put(to, counts[ranks[i] >> rank_bits] + rank, __ldg(&to.by_cell[cell.start + i]));
  }
}

}  // namespace starling::gpu
