// SPDX-License-Identifier: Apache-2.0
// Kernels that test every object for many filters. One kernel counts the objects that pass each
// filter, and one lists these objects. Launched by passing_launch.cu.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/filters/passing_launch.hpp"

namespace starling::gpu {

inline constexpr unsigned passing_warps = block_threads / warp_lanes;
/// How many objects a thread tests. With more objects a thread, filters would be loaded less often,
/// but a small tick would have too few blocks.
inline constexpr unsigned objects_a_thread = 4;
inline constexpr unsigned objects_a_block = objects_a_thread * block_threads;
/// How many filters a block tests at once: one for each lane of a warp.
inline constexpr unsigned filters_at_once = warp_lanes;

/// The test of one filter. Its members have no initial values, because arrays in shared memory
/// cannot have any.
struct PassingTest {
  std::uint32_t care;      ///< the tags that the filter looks at
  std::uint32_t expected;  ///< the tags of `care` that an object must have, and no others of them
  std::int64_t oldest_us;
  bool has_age;  ///< true if event times before oldest_us do not pass

  __device__ bool tags_pass(std::uint32_t tags) const { return (tags & care) == expected; }
};

__device__ inline PassingTest test_of(const DeviceFilter& filter, std::int64_t tau_us) {
  const auto [required, forbidden] = filter.tags;
  const bool is_possible = (required & forbidden) == 0;
  return {is_possible ? required | forbidden : 0, is_possible ? required : 1,
          oldest_time_us(tau_us, filter.age_us_max), filter.age_us_max != Filter::any_age};
}

/// The objects of a block, which it tests for up to filters_at_once filters at once. All threads of
/// a block must construct it and call its functions together.
class BlockOfObjects {
 public:
  __device__ BlockOfObjects(const ObjectsView& objects, std::uint32_t block) {
    const std::uint64_t first = std::uint64_t{block} * objects_a_block + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) {
      const std::uint64_t slot = first + i * block_threads;
      slots_[i] = static_cast<Slot>(slot);
      const bool is_alive = slot < objects.slots && objects.positions[slot].x != nowhere;
      alive_[i] = __ballot_sync(all_lanes, is_alive);
      tags_[i] = is_alive ? objects.tags[slot] : 0;
      times_us_[i] = is_alive ? objects.times_us[slot] : 0;
    }
  }

  /// Makes `count` tests of each object; `count` is at most filters_at_once. Afterwards lane f of
  /// each warp knows which of the warp's objects pass tests[f].
  __device__ void test(const PassingTest* tests, unsigned count) {
    const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) passing_[i] = 0;
    for (unsigned f = 0; f < count; ++f) {
      const PassingTest test = tests[f];
      unsigned passing[objects_a_thread];
#pragma unroll
      for (unsigned i = 0; i < objects_a_thread; ++i)
        passing[i] = __ballot_sync(all_lanes, test.tags_pass(tags_[i]));
      if (test.has_age)
#pragma unroll
        for (unsigned i = 0; i < objects_a_thread; ++i)
          passing[i] &= __ballot_sync(all_lanes, times_us_[i] >= test.oldest_us);
      if (lane != f) continue;
#pragma unroll
      for (unsigned i = 0; i < objects_a_thread; ++i) passing_[i] = passing[i] & alive_[i];
    }
  }

  /// On lane f, returns how many of the warp's objects pass tests[f].
  __device__ std::uint32_t count() const {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i)
      sum += static_cast<std::uint32_t>(__popc(passing_[i]));
    return sum;
  }

  /// Calls put(rank, slot) for each of the warp's objects that pass tests[f]. The ranks are 0, 1
  /// and so on.
  template <class Put>
  __device__ void for_each(unsigned f, const Put& put) const {
    const LaneGroup<warp_lanes> warp;
    std::uint32_t before = 0;
#pragma unroll
    for (unsigned i = 0; i < objects_a_thread; ++i) {
      const unsigned passing = __shfl_sync(all_lanes, passing_[i], static_cast<int>(f));
      if ((passing >> warp.lane & 1) != 0)
        put(before + static_cast<std::uint32_t>(__popc(warp.before(passing))), slots_[i]);
      before += static_cast<std::uint32_t>(__popc(passing));
    }
  }

 private:
  Slot slots_[objects_a_thread];
  std::uint32_t tags_[objects_a_thread];
  std::int64_t times_us_[objects_a_thread];
  unsigned alive_[objects_a_thread];    ///< bit j of alive_[i]: object i of lane j is alive
  unsigned passing_[objects_a_thread];  ///< on lane f, the same bits for passing tests[f]
};

/// Writes the tests of the next filters, up to filters_at_once of them, into `tests`, which is in
/// shared memory. Returns how many tests it wrote. tests[i] is the test of filters[numbers[first +
/// i]], or of filters[first + i] if `numbers` is null; first + i stays below `end`. All threads of
/// the block must call.
__device__ inline unsigned load_tests(const DeviceFilter* filters, const std::uint32_t* numbers,
                                      std::uint32_t first, std::uint32_t end, std::int64_t tau_us,
                                      PassingTest* tests) {
  const unsigned count = min(end - first, filters_at_once);
  if (threadIdx.x < count) {
    const std::uint32_t i = first + threadIdx.x;
    tests[threadIdx.x] = test_of(filters[numbers == nullptr ? i : numbers[i]], tau_us);
  }
  __syncthreads();
  return count;
}

// Block (x, y) tests the x-th objects_a_block slots for the y-th filters_a_block filters. It adds
// to counts[f] how many of these objects pass filters[f]. Static shared memory: a test and a count
// for each of filters_at_once filters.
__global__ void __launch_bounds__(block_threads)
    count_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                         std::uint32_t count, std::uint32_t filters_a_block, std::int64_t tau_us,
                         std::uint32_t* counts) {
  __shared__ PassingTest tests[filters_at_once];
  __shared__ std::uint32_t sums[filters_at_once];
  BlockOfObjects block(objects, blockIdx.x);
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t end = min(begin + filters_a_block, count);
  for (std::uint32_t first = begin; first < end; first += filters_at_once) {
    if (threadIdx.x < filters_at_once) sums[threadIdx.x] = 0;
    const unsigned tested = load_tests(filters, nullptr, first, end, tau_us, tests);
    block.test(tests, tested);
    const std::uint32_t own = block.count();
    if (own != 0) atomicAdd(&sums[threadIdx.x % warp_lanes], own);
    __syncthreads();
    if (threadIdx.x < tested && sums[threadIdx.x] != 0)
      atomicAdd(&counts[first + threadIdx.x], sums[threadIdx.x]);
    __syncthreads();
  }
}

// Lists the objects of layers 1 to `layers`. Layer i + 1 has the objects that pass
// filters[numbers[i]]. Block (x, y) tests the x-th objects_a_block slots for the filters of the
// y-th filters_a_block layers. It writes the objects of layer i + 1 to to.entries, in any order,
// from index to.cursors[i] on, and advances this cursor. Static shared memory: a test for each of
// filters_at_once filters, and for each of them a number for each warp.
__global__ void __launch_bounds__(block_threads)
    list_passing_kernel(const __grid_constant__ ObjectsView objects, const DeviceFilter* filters,
                        const std::uint32_t* numbers, std::uint32_t layers,
                        std::uint32_t filters_a_block, std::int64_t tau_us,
                        const __grid_constant__ LayerOutput to) {
  __shared__ PassingTest tests[filters_at_once];
  __shared__ std::uint32_t firsts[passing_warps][filters_at_once];
  BlockOfObjects block(objects, blockIdx.x);
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::uint32_t begin = blockIdx.y * filters_a_block;
  const std::uint32_t end = min(begin + filters_a_block, layers);
  for (std::uint32_t first = begin; first < end; first += filters_at_once) {
    block.test(tests, load_tests(filters, numbers, first, end, tau_us, tests));
    const std::uint32_t own = block.count();
    firsts[warp][lane] = own;
    __syncthreads();
    if (warp == 0) {  // replaces each warp's count with the index of its first entry
      std::uint32_t sum = 0;
      for (unsigned i = 0; i < passing_warps; ++i) sum += firsts[i][lane];
      std::uint32_t place = sum == 0 ? 0 : atomicAdd(&to.cursors[first + lane], sum);
      for (unsigned i = 0; i < passing_warps; ++i) {
        const std::uint32_t count = firsts[i][lane];
        firsts[i][lane] = place;
        place += count;
      }
    }
    __syncthreads();
    for (unsigned left = __ballot_sync(all_lanes, own != 0); left != 0; left &= left - 1) {
      const auto f = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      block.for_each(f, [&](std::uint32_t rank, Slot slot) {
        to.entries[firsts[warp][f] + rank] = {slot, first + f + 1};
      });
    }
    __syncthreads();
  }
}

// Any number of threads. Copies `counts` to `host`, which is pinned memory. Sets `counts` to 0.
__global__ void tell_counts_kernel(std::uint32_t* counts, std::uint32_t count,
                                   std::uint32_t* host) {
  const auto threads = static_cast<std::uint32_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < count; i += threads) {
    host[i] = counts[i];
    counts[i] = 0;
  }
}

// Any number of threads. Copies `from`, which is in pinned memory, to `to`. Sets each layer's
// cursor to the layer's first entry. Writes the unused entries, so that each layer's number of
// entries is a multiple of `group`.
__global__ void take_choice_kernel(const __grid_constant__ LayerChoice from,
                                   const __grid_constant__ LayerChoice to, std::uint32_t filters,
                                   std::uint32_t layers, std::uint32_t group,
                                   const __grid_constant__ LayerOutput output) {
  const auto threads = static_cast<std::uint32_t>(gridDim.x * blockDim.x);
  const auto thread = static_cast<std::uint32_t>(thread_index());
  for (std::uint32_t i = thread; i < filters; i += threads) to.routes[i] = from.routes[i];
  for (std::uint32_t i = thread; i < layers; i += threads) {
    const Layer layer = from.layers[i];
    to.numbers[i] = from.numbers[i];
    to.layers[i] = layer;
    output.cursors[i] = layer.first;
    for (std::uint32_t unused = layer.count; unused % group != 0; ++unused)
      output.entries[layer.first + unused] = {no_slot, i + 1};
  }
}

}  // namespace starling::gpu
